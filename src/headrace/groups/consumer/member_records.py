"""The records of consumer groups as Kafka 4.3 writes them, and what they say about a member."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headrace.groups.consumer.member import Member, MemberState, OwnedPartitions, Partitions
from headrace.groups.group import KeyValue
from headrace.groups.records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    TopicPartition,
    TopicPartitions,
)


def subscription_record(group_id: str, member: Member) -> KeyValue:
    """Everything that the member said about itself."""
    value = ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.subscribed_topic_names),
        subscribed_topic_regex=member.subscribed_topic_regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.server_assignor,
        classic_member_metadata=member.classic,
    )
    return ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id), value


def with_subscription(member: Member, value: ConsumerGroupMemberMetadataValue) -> Member:
    return member.but(
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        subscribed_topic_names=frozenset(value.subscribed_topic_names),
        subscribed_topic_regex=value.subscribed_topic_regex or "",
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        server_assignor=value.server_assignor,
        classic=value.classic_member_metadata,
    )


def current_assignment_record(group_id: str, member: Member) -> KeyValue:
    """Where the member stands."""
    key = ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id)
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.member_epoch,
        previous_member_epoch=member.previous_member_epoch,
        state=int(member.state),
        assigned_partitions=_owned(member.assigned),
        partitions_pending_revocation=_owned(member.pending_revocation),
    )
    return key, value


def with_current_assignment(
    member: Member, value: ConsumerGroupCurrentMemberAssignmentValue
) -> Member:
    return member.but(
        member_epoch=value.member_epoch,
        previous_member_epoch=value.previous_member_epoch,
        state=MemberState(value.state),
        assigned=_read_owned(value.assigned_partitions, value.member_epoch),
        pending_revocation=_read_owned(value.partitions_pending_revocation, value.member_epoch),
    )


def target_assignment_record(group_id: str, member_id: str, target: Partitions) -> KeyValue:
    """What the member is meant to own in the end."""
    value = ConsumerGroupTargetAssignmentMemberValue(
        topic_partitions=[
            TopicPartition(topic_id=topic_id, partitions=sorted(partitions))
            for topic_id, partitions in target.items()
        ]
    )
    return ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), value


def read_target(value: ConsumerGroupTargetAssignmentMemberValue) -> Partitions:
    return {topic.topic_id: frozenset(topic.partitions) for topic in value.topic_partitions}


def member_tombstones(group_id: str, member_id: str) -> list[KeyValue]:
    """Deletes a member; in this order, which Kafka insists on when it reads them."""
    return [
        *current_assignment_tombstones(group_id, (member_id,)),
        *target_assignment_tombstones(group_id, (member_id,)),
        *subscription_tombstones(group_id, (member_id,)),
    ]


def current_assignment_tombstones(group_id: str, member_ids: Iterable[str]) -> list[KeyValue]:
    return [
        (ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None)
        for member_id in member_ids
    ]


def target_assignment_tombstones(group_id: str, member_ids: Iterable[str]) -> list[KeyValue]:
    return [
        (ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None)
        for member_id in member_ids
    ]


def subscription_tombstones(group_id: str, member_ids: Iterable[str]) -> list[KeyValue]:
    return [
        (ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None)
        for member_id in member_ids
    ]


def _owned(owned: OwnedPartitions) -> list[TopicPartitions]:
    topics = []
    for topic_id, epochs in owned.items():
        partitions = sorted(epochs)
        topics.append(
            TopicPartitions(
                topic_id=topic_id,
                partitions=partitions,
                assignment_epochs=[epochs[partition] for partition in partitions],
            )
        )
    return topics


def _read_owned(topics: Sequence[TopicPartitions], member_epoch: int) -> OwnedPartitions:
    """Records from before KIP-1251 have no epochs: the member's own is the best guess."""
    owned: dict[bytes, dict[int, int]] = {}
    for topic in topics:
        epochs = topic.assignment_epochs
        if epochs is None or len(epochs) != len(topic.partitions):
            owned[topic.topic_id] = dict.fromkeys(topic.partitions, max(member_epoch, 0))
        else:
            owned[topic.topic_id] = dict(zip(topic.partitions, epochs, strict=True))
    return owned
