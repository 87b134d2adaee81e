"""The records of a consumer group as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headrace.groups.consumer.assignors.spec import slices
from headrace.groups.consumer.member_records import (
    current_assignment_tombstones,
    subscription_tombstones,
    target_assignment_tombstones,
)
from headrace.groups.consumer.subscriptions import ResolvedRegex
from headrace.groups.group import KeyValue
from headrace.groups.records import (
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> KeyValue:
    value = ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return ConsumerGroupMetadataKey(group_id=group_id), value


def assignment_epoch_record(group_id: str, epoch: int, timestamp_ms: int) -> KeyValue:
    """The target assignment is complete for this epoch."""
    value = ConsumerGroupTargetAssignmentMetadataValue(
        assignment_epoch=epoch, assignment_timestamp=timestamp_ms
    )
    return ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), value


def regex_record(group_id: str, regex: str, resolved: ResolvedRegex) -> KeyValue:
    value = ConsumerGroupRegularExpressionValue(
        topics=sorted(resolved.topics),
        version=resolved.version,
        timestamp=resolved.timestamp_ms,
    )
    key = ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex)
    return key, value


def regex_tombstone(group_id: str, regex: str) -> KeyValue:
    return ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex), None


def partition_metadata_tombstone(group_id: str) -> KeyValue:
    """Of a record that Kafka wrote before 4.1."""
    return ConsumerGroupPartitionMetadataKey(group_id=group_id), None


def group_tombstones(
    group_id: str, member_ids: Iterable[str], regexes: Iterable[str]
) -> list[KeyValue]:
    """Deletes a group with all its members; in this order, which Kafka insists on."""
    return [one for some in tombstones_in_steps(group_id, member_ids, regexes) for one in some]


def tombstones_in_steps(
    group_id: str, member_ids: Iterable[str], regexes: Iterable[str]
) -> Iterator[list[KeyValue]]:
    """The same, some at a time."""
    portions = list(slices(list(member_ids)))
    for member_tombstones in (current_assignment_tombstones, target_assignment_tombstones):
        for portion in portions:
            yield member_tombstones(group_id, portion)
    yield [(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None)]
    for portion in portions:
        yield subscription_tombstones(group_id, portion)
    yield [
        *(regex_tombstone(group_id, regex) for regex in regexes),
        partition_metadata_tombstone(group_id),
        (ConsumerGroupMetadataKey(group_id=group_id), None),
    ]
