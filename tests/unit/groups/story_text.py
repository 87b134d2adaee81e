"""Replies and records in one line each."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.groups import records
from headrace.protocol.messages.delete_groups import DeletableGroupResult
from headrace.protocol.messages.describe_groups import DescribedGroup
from headrace.protocol.messages.heartbeat import HeartbeatResponse
from headrace.protocol.messages.join_group import JoinGroupResponse
from headrace.protocol.messages.leave_group import LeaveGroupResponse
from headrace.protocol.messages.list_groups import ListedGroup
from headrace.protocol.messages.offset_fetch import OffsetFetchResponseGroup
from headrace.protocol.messages.sync_group import SyncGroupResponse


def error_text(code: int) -> str:
    return "ok" if code == 0 else ErrorCode(code).name


@singledispatch
def reply_text(reply: Any) -> str:
    """Commits and deletions of offsets: the error of each partition."""
    if getattr(reply, "error_code", 0):
        return error_text(reply.error_code)
    parts = [
        f"{topic.name}-{one.partition_index} {error_text(one.error_code)}"
        for topic in reply.topics
        for one in topic.partitions
    ]
    return ", ".join(sorted(parts))


@reply_text.register
def _(reply: KafkaError) -> str:
    return reply.code.name


@reply_text.register
def _(reply: list) -> str:  # type: ignore[type-arg]
    return "; ".join(reply_text(one) for one in reply) or "nothing"


@reply_text.register
def _(reply: JoinGroupResponse) -> str:
    if reply.error_code:
        return f"{error_text(reply.error_code)} member={reply.member_id}"
    text = (
        f"ok member={reply.member_id} generation={reply.generation_id}"
        f" protocol={reply.protocol_name} leader={reply.leader}"
    )
    if reply.members:
        text += f" members={','.join(sorted(one.member_id for one in reply.members))}"
    return text + (" skip-assignment" if reply.skip_assignment else "")


@reply_text.register
def _(reply: SyncGroupResponse) -> str:
    if reply.error_code:
        return error_text(reply.error_code)
    return f"ok assignment={reply.assignment.decode() or 'nothing'}"


@reply_text.register
def _(reply: HeartbeatResponse) -> str:
    return error_text(reply.error_code)


@reply_text.register
def _(reply: LeaveGroupResponse) -> str:
    if reply.error_code:
        return error_text(reply.error_code)
    return ", ".join(
        f"{one.member_id or one.group_instance_id} {error_text(one.error_code)}"
        for one in reply.members
    )


@reply_text.register
def _(reply: OffsetFetchResponseGroup) -> str:
    parts = []
    for topic in reply.topics:
        for one in topic.partitions:
            text = f"{topic.name}-{one.partition_index}:{one.committed_offset}"
            if one.metadata:
                text += f" '{one.metadata}'"
            if one.committed_leader_epoch >= 0:
                text += f" epoch={one.committed_leader_epoch}"
            if one.error_code:
                text += f" {error_text(one.error_code)}"
            parts.append(text)
    return ", ".join(parts) or "nothing"


@reply_text.register
def _(reply: ListedGroup) -> str:
    return f"{reply.group_id} {reply.group_type} {reply.group_state} '{reply.protocol_type}'"


@reply_text.register
def _(reply: DeletableGroupResult) -> str:
    return f"{reply.group_id} {error_text(reply.error_code)}"


@reply_text.register
def _(reply: DescribedGroup) -> str:
    if reply.error_code:
        return f"{reply.group_id} {reply.group_state} {error_text(reply.error_code)}"
    text = f"{reply.group_id} {reply.group_state}"
    if reply.protocol_data:
        text += f" protocol={reply.protocol_data}"
    for member in sorted(reply.members, key=lambda one: one.member_id):
        text += f" [{member.member_id} {member.member_assignment.decode() or 'nothing'}]"
    return text


def record_text(key: Any, value: Any, producer_id: int) -> str:
    text = _key_text(key)
    if value is None:
        return f"- {text}"
    text = f"+ {text} {_value_text(value)}"
    return text if producer_id < 0 else f"{text} of producer {producer_id}"


def _key_text(key: Any) -> str:
    if isinstance(key, records.OffsetCommitKey):
        return f"offset {key.group} {key.topic}-{key.partition}"
    if isinstance(key, records.GroupMetadataKey):
        return f"group {key.group}"
    return str(key)


def _value_text(value: Any) -> str:
    if isinstance(value, records.OffsetCommitValue):
        text = str(value.offset)
        if value.metadata:
            text += f" '{value.metadata}'"
        return text + (f" until {value.expire_timestamp}" if value.expire_timestamp >= 0 else "")
    if isinstance(value, records.GroupMetadataValue):
        members = ", ".join(
            f"{one.member_id}={one.assignment.decode() or 'nothing'}" for one in value.members
        )
        return (
            f"generation={value.generation} type='{value.protocol_type}'"
            f" protocol={value.protocol} leader={value.leader} [{members}]"
        )
    return str(value)
