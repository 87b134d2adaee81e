"""What members of a classic group say to one another: subscriptions and assignments as bytes."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.client.groups_assignor import Subscriber
from headrace.client.leaders import TopicPartition
from headrace.protocol.compiler import encode, read
from headrace.protocol.embedded import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from headrace.protocol.embedded import TopicPartition as AssignedTopic
from headrace.protocol.messages.join_group import JoinGroupResponseMember

#: Every client of today reads these; later versions add what an eager assignor does not need.
_SUBSCRIPTION_VERSION = 1
_ASSIGNMENT_VERSION = 1
_VERSION_MAX = 3


def write_subscription(topics: Iterable[str]) -> bytes:
    message = ConsumerProtocolSubscription(topics=sorted(topics))
    version = _SUBSCRIPTION_VERSION
    return version.to_bytes(2, "big") + encode(message, version)


def read_subscriber(member: JoinGroupResponseMember) -> Subscriber:
    """A member with what it subscribes to."""
    data = bytes(member.metadata)
    version = min(int.from_bytes(data[:2], "big"), _VERSION_MAX)
    message, _ = read(ConsumerProtocolSubscription, version, data, 2)
    return Subscriber(member.member_id, member.group_instance_id, tuple(message.topics))


def write_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    topics: dict[str, list[int]] = {}
    for topic, index in partitions:
        topics.setdefault(topic, []).append(index)
    rows = [AssignedTopic(topic=name, partitions=indexes) for name, indexes in topics.items()]
    version = _ASSIGNMENT_VERSION
    return version.to_bytes(2, "big") + encode(
        ConsumerProtocolAssignment(assigned_partitions=rows), version
    )
