"""What members of a classic group say to one another: subscriptions and assignments as bytes."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.client.assignors.subscriber import NO_GENERATION, Subscriber
from headrace.client.leaders import TopicPartition
from headrace.protocol.compiler import encode, read
from headrace.protocol.embedded import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    ConsumerProtocolSubscriptionTopicPartition,
)
from headrace.protocol.embedded import TopicPartition as AssignedTopic
from headrace.protocol.errors import ProtocolError
from headrace.protocol.messages.join_group import JoinGroupResponseMember
from headrace.protocol.schema import Message, array, int32

#: Clients that know less read the part that they know: versions only append.
_VERSION_MAX = 3
_WITH_GENERATION = 2
STICKY, COOPERATIVE = "sticky", "cooperative-sticky"


class StickyUserData(Message, versions="0-1", flexible="none"):
    """What a member tells the sticky assignor: it has given its partitions up before it joins."""

    previous_assignment: list[AssignedTopic] = array(AssignedTopic)
    generation: int = int32("1+", default=NO_GENERATION)


def write_subscription(
    topics: Iterable[str],
    *,
    owned: Iterable[TopicPartition] = (),
    generation: int = NO_GENERATION,
    assignor: str = "range",
    last: Iterable[TopicPartition] = (),
    last_generation: int = NO_GENERATION,
) -> bytes:
    """A member's subscription, with what its assignor wants to know besides."""
    user_data = None
    if assignor == STICKY and last_generation != NO_GENERATION:
        rows = [AssignedTopic(topic=t, partitions=i) for t, i in _by_topic(last).items()]
        user_data = encode(StickyUserData(previous_assignment=rows, generation=last_generation), 1)
    elif assignor == COOPERATIVE:
        user_data = generation.to_bytes(4, "big", signed=True)
    message = ConsumerProtocolSubscription(
        topics=sorted(topics),
        user_data=user_data,
        owned_partitions=[
            ConsumerProtocolSubscriptionTopicPartition(topic=topic, partitions=indexes)
            for topic, indexes in _by_topic(owned).items()
        ],
        generation_id=generation,
    )
    return _VERSION_MAX.to_bytes(2, "big") + encode(message, _VERSION_MAX)


def read_subscriber(member: JoinGroupResponseMember, assignor: str = "range") -> Subscriber:
    """A member with what it subscribes to, and what it had."""
    data = bytes(member.metadata)
    version = min(int.from_bytes(data[:2], "big"), _VERSION_MAX)
    message, _ = read(ConsumerProtocolSubscription, version, data, 2)
    owned = [(row.topic, i) for row in message.owned_partitions for i in row.partitions]
    generation = message.generation_id
    user_data = bytes(message.user_data or b"")
    if assignor == STICKY:
        owned, generation = _read_sticky(user_data)
    elif assignor == COOPERATIVE and version < _WITH_GENERATION and len(user_data) >= 4:
        generation = int.from_bytes(user_data[:4], "big", signed=True)
    return Subscriber(
        member.member_id,
        member.group_instance_id,
        tuple(message.topics),
        tuple(owned),
        generation,
    )


def _read_sticky(data: bytes) -> tuple[list[TopicPartition], int]:
    """Data of another client's making that cannot be read says nothing, as in Kafka."""
    for version in (1, 0):
        try:
            message, _ = read(StickyUserData, version, data)
        except ProtocolError:
            continue
        rows = [(row.topic, i) for row in message.previous_assignment for i in row.partitions]
        return rows, message.generation
    return [], NO_GENERATION


def write_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    rows = [AssignedTopic(topic=t, partitions=i) for t, i in _by_topic(partitions).items()]
    message = ConsumerProtocolAssignment(assigned_partitions=rows)
    return _VERSION_MAX.to_bytes(2, "big") + encode(message, _VERSION_MAX)


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        topics.setdefault(topic, []).append(index)
    return topics
