"""Applies the records of consumer groups: the only thing that changes them.

While a log is loaded, records come as after compaction: the last one of each key, in an order that
need not be the one in which they were written. So each kind is applied without a look at whether
the others have come, and a tombstone for what is not there means nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.groups.consumer.group import FIRST_EPOCH, ConsumerGroup
from headrace.groups.consumer.member import LEFT_EPOCH, Member
from headrace.groups.consumer.member_records import (
    read_target,
    with_current_assignment,
    with_subscription,
)
from headrace.groups.consumer.subscriptions import ResolvedRegex
from headrace.groups.group_store import GroupStore
from headrace.groups.part import Apply
from headrace.groups.records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)
from headrace.protocol.coordinator_record import CoordinatorRecord


class Replay:
    """Into the groups of one coordinator."""

    def __init__(self, groups: GroupStore) -> None:
        self._groups = groups

    def records(self) -> Mapping[type[CoordinatorRecord], Apply]:
        return {
            ConsumerGroupMetadataKey: self._group,
            ConsumerGroupPartitionMetadataKey: self._partition_metadata,
            ConsumerGroupMemberMetadataKey: self._subscription,
            ConsumerGroupTargetAssignmentMetadataKey: self._assignment_epoch,
            ConsumerGroupTargetAssignmentMemberKey: self._target,
            ConsumerGroupCurrentMemberAssignmentKey: self._current_assignment,
            ConsumerGroupRegularExpressionKey: self._regex,
        }

    def _find(self, group_id: str) -> ConsumerGroup | None:
        group = self._groups.get(group_id)
        return group if isinstance(group, ConsumerGroup) else None

    def _open(self, group_id: str) -> ConsumerGroup:
        """A classic group under the same id only held offsets, or was converted before this."""
        group = self._find(group_id)
        if group is None:
            group = ConsumerGroup(group_id)
            self._groups.put(group)
        return group

    def _group(
        self, key: ConsumerGroupMetadataKey, value: ConsumerGroupMetadataValue | None, _: int
    ) -> None:
        if value is None:
            if self._find(key.group_id) is not None:
                self._groups.remove(key.group_id)
            return
        group = self._open(key.group_id)
        group.group_epoch = value.epoch
        group.metadata_hash = value.metadata_hash
        self._groups.activity.consumer_rebalances += 1

    def _partition_metadata(
        self,
        key: ConsumerGroupPartitionMetadataKey,
        value: ConsumerGroupPartitionMetadataValue | None,
        _: int,
    ) -> None:
        group = self._find(key.group_id) if value is None else self._open(key.group_id)
        if group is not None:
            group.has_partition_metadata_record = value is not None

    def _subscription(
        self,
        key: ConsumerGroupMemberMetadataKey,
        value: ConsumerGroupMemberMetadataValue | None,
        _: int,
    ) -> None:
        group = self._find(key.group_id) if value is None else self._open(key.group_id)
        if group is None:
            return
        if value is None:
            group.members.remove(key.member_id)
        else:
            member = group.members.get(key.member_id) or Member(key.member_id)
            group.members.put(with_subscription(member, value))

    def _assignment_epoch(
        self,
        key: ConsumerGroupTargetAssignmentMetadataKey,
        value: ConsumerGroupTargetAssignmentMetadataValue | None,
        _: int,
    ) -> None:
        group = self._find(key.group_id) if value is None else self._open(key.group_id)
        if group is not None:
            # The tombstone may be of an earlier group, which leaves this one as new groups are.
            group.assignment_epoch = FIRST_EPOCH if value is None else value.assignment_epoch
            group.assignment_timestamp_ms = 0 if value is None else value.assignment_timestamp

    def _target(
        self,
        key: ConsumerGroupTargetAssignmentMemberKey,
        value: ConsumerGroupTargetAssignmentMemberValue | None,
        _: int,
    ) -> None:
        group = self._find(key.group_id) if value is None else self._open(key.group_id)
        if group is None:
            return
        if value is None:
            group.targets.pop(key.member_id, None)
        else:
            group.targets[key.member_id] = read_target(value)

    def _current_assignment(
        self,
        key: ConsumerGroupCurrentMemberAssignmentKey,
        value: ConsumerGroupCurrentMemberAssignmentValue | None,
        _: int,
    ) -> None:
        group = self._find(key.group_id) if value is None else self._open(key.group_id)
        if group is None:
            return
        member = group.members.get(key.member_id)
        if value is not None:
            member = member or Member(key.member_id)
            group.members.put(with_current_assignment(member, value))
        elif member is not None:
            group.members.put(
                member.but(
                    member_epoch=LEFT_EPOCH,
                    previous_member_epoch=LEFT_EPOCH,
                    assigned={},
                    pending_revocation={},
                )
            )

    def _regex(
        self,
        key: ConsumerGroupRegularExpressionKey,
        value: ConsumerGroupRegularExpressionValue | None,
        _: int,
    ) -> None:
        group = self._find(key.group_id) if value is None else self._open(key.group_id)
        if group is None:
            return
        resolved = None
        if value is not None:
            resolved = ResolvedRegex(frozenset(value.topics), value.version, value.timestamp)
        group.members.subscriptions.resolve(key.regular_expression, resolved)
