"""What consumers of the classic protocol put into JoinGroup and get from SyncGroup.

Subscriptions and assignments begin with their version. Newer versions than ours begin like ours, so
they are read as the newest that we know.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import TypeVar

from headrace.groups.consumer.member import Partitions
from headrace.groups.topics import Topics
from headrace.protocol import compiler
from headrace.protocol.embedded import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from headrace.protocol.errors import ProtocolError
from headrace.protocol.messages.consumer_group_heartbeat import TopicPartitions
from headrace.protocol.schema import Message

_SHORT = struct.Struct(">h")
_NEWEST = 3

M = TypeVar("M", bound=Message)


def version_of(data: bytes) -> int:
    """Raise `ProtocolError` if there is none."""
    if len(data) < _SHORT.size:
        raise ProtocolError("embedded consumer data has no version")
    (version,) = _SHORT.unpack_from(data)
    if version < 0:
        raise ProtocolError(f"embedded consumer data has version {version}")
    return min(int(version), _NEWEST)


def _read(message: type[M], data: bytes) -> M:
    read, _ = compiler.read(message, version_of(data), data, _SHORT.size)
    return read


def read_subscription(data: bytes) -> ConsumerProtocolSubscription:
    return _read(ConsumerProtocolSubscription, data)


def read_assignment(data: bytes) -> ConsumerProtocolAssignment:
    return _read(ConsumerProtocolAssignment, data)


def write_assignment(
    assigned: Mapping[bytes, Iterable[int]], topics: Topics, version: int
) -> bytes:
    """Topics that do not exist any more are left out: classic members know topics by name."""
    parts = []
    for topic_id, partitions in assigned.items():
        view = topics.identified(topic_id)
        if view is not None:
            parts.append(TopicPartition(topic=view.name, partitions=sorted(partitions)))
    assignment = ConsumerProtocolAssignment(assigned_partitions=parts)
    return _SHORT.pack(version) + compiler.encode(assignment, version)


def assigned_partitions(assignment: ConsumerProtocolAssignment, topics: Topics) -> Partitions:
    """By topic id, as far as the topics exist."""
    found: dict[bytes, frozenset[int]] = {}
    for part in assignment.assigned_partitions:
        view = topics.named(part.topic)
        if view is not None:
            found[view.topic_id] = frozenset(part.partitions)
    return found


def owned_partitions(
    subscription: ConsumerProtocolSubscription, topics: Topics
) -> list[TopicPartitions]:
    """What a member says it owns, as a member of the new protocol would say it."""
    return [
        TopicPartitions(topic_id=view.topic_id, partitions=part.partitions)
        for part in subscription.owned_partitions
        if (view := topics.named(part.topic)) is not None
    ]
