"""Answers and records of consumer groups in one line each; the rest as in classic stories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.groups import records
from headrace.groups.consumer.member import MemberState
from headrace.protocol import compiler
from headrace.protocol.embedded import ConsumerProtocolAssignment
from headrace.protocol.messages.consumer_group_describe import DescribedGroup
from headrace.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from headrace.protocol.messages.describe_groups import DescribedGroup as ClassicDescribedGroup
from headrace.protocol.messages.offset_fetch import OffsetFetchResponseGroup
from headrace.protocol.messages.sync_group import SyncGroupResponse
from tests.unit.groups import story_text
from tests.unit.groups.consumer.world import Topics


def partitions_text(partitions: Mapping[str, Iterable[int]]) -> str:
    parts = [f"{name}:{','.join(map(str, some))}" for name, some in sorted(partitions.items())]
    return "/".join(parts) or "nothing"


def _by_id(topics: Iterable[Any], known: Topics) -> str:
    named = {}
    for one in topics:
        view = known.identified(one.topic_id)
        named["?" if view is None else view.name] = one.partitions
    return partitions_text(named)


def _owned(topics: Iterable[Any], known: Topics) -> str:
    """`t:0@3` is partition 0 of t, owned since epoch 3."""
    parts = []
    for one in topics:
        view = known.identified(one.topic_id)
        name = "?" if view is None else view.name
        pairs = zip(one.partitions, one.assignment_epochs, strict=True)
        parts.append(f"{name}:{','.join(f'{index}@{epoch}' for index, epoch in pairs)}")
    return "/".join(sorted(parts)) or "nothing"


def classic_assignment_text(assignment: bytes) -> str:
    if not assignment:
        return "nothing"
    read, _ = compiler.read(ConsumerProtocolAssignment, 1, assignment, 2)
    return partitions_text({one.topic: one.partitions for one in read.assigned_partitions})


def answer_text(answer: Any, topics: Topics) -> str:
    if isinstance(answer, KafkaError):
        return f"{answer.code.name} {answer.message}".rstrip()
    if isinstance(answer, ConsumerGroupHeartbeatResponse):
        text = f"ok epoch={answer.member_epoch}"
        if answer.assignment is not None:
            text += f" owns {_by_id(answer.assignment.topic_partitions, topics)}"
        if answer.heartbeat_interval_ms not in (0, 5_000):
            text += f" next in {answer.heartbeat_interval_ms} ms"
        return text
    if isinstance(answer, SyncGroupResponse) and not answer.error_code:
        return f"ok owns {classic_assignment_text(answer.assignment)}"
    if isinstance(answer, list):
        return "; ".join(answer_text(one, topics) for one in answer) or "nothing"
    if isinstance(answer, DescribedGroup):
        return _described(answer)
    if isinstance(answer, ClassicDescribedGroup):
        members = " ".join(
            f"[{one.member_id} {classic_assignment_text(one.member_assignment)}]"
            for one in sorted(answer.members, key=lambda one: one.member_id)
        )
        return f"{answer.group_id} {answer.group_state} {members}"
    if isinstance(answer, OffsetFetchResponseGroup):
        return ", ".join(sorted(story_text.reply_text(answer).split(", ")))
    return story_text.reply_text(answer)


def _described(group: DescribedGroup) -> str:
    if group.error_code:
        return f"{group.group_id} {ErrorCode(group.error_code).name} {group.error_message}"
    text = (
        f"{group.group_id} {group.group_state} epoch={group.group_epoch}"
        f" assigned={group.assignment_epoch} {group.assignor_name}"
    )
    for one in sorted(group.members, key=lambda one: one.member_id):
        has, wants = (
            partitions_text({part.topic_name: part.partitions for part in some.topic_partitions})
            for some in (one.assignment, one.target_assignment)
        )
        kind = "classic " if one.member_type == 0 else ""
        text += f" [{kind}{one.member_id} epoch={one.member_epoch} has {has} wants {wants}]"
    return text


def record_text(key: Any, value: Any, topics: Topics) -> str:
    text = _key_text(key)
    if value is None:
        return f"- {text}"
    return f"+ {text} {_value_text(value, topics)}"


def _key_text(key: Any) -> str:
    match key:
        case records.ConsumerGroupMetadataKey():
            return "group"
        case records.ConsumerGroupPartitionMetadataKey():
            return "partition-metadata"
        case records.ConsumerGroupMemberMetadataKey():
            return f"member {key.member_id}"
        case records.ConsumerGroupTargetAssignmentMetadataKey():
            return "targets"
        case records.ConsumerGroupTargetAssignmentMemberKey():
            return f"target {key.member_id}"
        case records.ConsumerGroupCurrentMemberAssignmentKey():
            return f"current {key.member_id}"
        case records.ConsumerGroupRegularExpressionKey():
            return f"regex {key.regular_expression}"
        case records.GroupMetadataKey():
            return f"classic-group {key.group}"
        case records.OffsetCommitKey():
            return f"offset {key.topic}-{key.partition}"
    return str(key)


def _value_text(value: Any, topics: Topics) -> str:
    match value:
        case records.ConsumerGroupMetadataValue():
            return f"epoch={value.epoch}"
        case records.ConsumerGroupMemberMetadataValue():
            return _member_text(value)
        case records.ConsumerGroupTargetAssignmentMetadataValue():
            return f"epoch={value.assignment_epoch}"
        case records.ConsumerGroupTargetAssignmentMemberValue():
            return _by_id(value.topic_partitions, topics)
        case records.ConsumerGroupCurrentMemberAssignmentValue():
            text = (
                f"epoch={value.member_epoch} previous={value.previous_member_epoch}"
                f" {MemberState(value.state).name} {_owned(value.assigned_partitions, topics)}"
            )
            if value.partitions_pending_revocation:
                text += f" revoking {_owned(value.partitions_pending_revocation, topics)}"
            return text
        case records.ConsumerGroupRegularExpressionValue():
            return f"topics={','.join(value.topics) or 'none'}"
        case records.GroupMetadataValue():
            members = " ".join(
                f"[{one.member_id} {classic_assignment_text(one.assignment)}]"
                for one in sorted(value.members, key=lambda one: one.member_id)
            )
            return f"generation={value.generation} {value.protocol} {members}".rstrip()
        case records.OffsetCommitValue():
            return str(value.offset)
    return str(value)


def _member_text(value: records.ConsumerGroupMemberMetadataValue) -> str:
    parts = []
    if value.subscribed_topic_names:
        parts.append(f"topics={','.join(value.subscribed_topic_names)}")
    if value.subscribed_topic_regex:
        parts.append(f"regex={value.subscribed_topic_regex}")
    if value.instance_id:
        parts.append(f"instance={value.instance_id}")
    if value.server_assignor:
        parts.append(f"assignor={value.server_assignor}")
    if value.classic_member_metadata is not None:
        names = [one.name for one in value.classic_member_metadata.supported_protocols]
        parts.append(f"classic={','.join(names)}")
    return " ".join(parts) or "subscribed to nothing"
