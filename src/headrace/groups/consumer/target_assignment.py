"""Makes the target assignment of a group: asks its assignor, and writes what has changed."""

from __future__ import annotations

import logging
from typing import NamedTuple

from headrace.groups.call import GroupOutcome
from headrace.groups.consumer.assignors.catalog import ASSIGNORS
from headrace.groups.consumer.assignors.spec import GroupSpec, MemberSpec
from headrace.groups.consumer.config import ConsumerGroupConfig, GroupSettings
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.consumer.group_records import assignment_epoch_record
from headrace.groups.consumer.member import Member, Partitions
from headrace.groups.consumer.member_records import target_assignment_record
from headrace.groups.consumer.subscriptions import Subscriptions
from headrace.groups.topics import Topics

logger = logging.getLogger(__name__)

#: More records than this may go into several batches: half a target only counts as none, because
#: the record of its epoch comes last.
_ATOMIC_MAX = 1_000


class Target(NamedTuple):
    """For one member."""

    epoch: int
    partitions: Partitions


class Change(NamedTuple):
    """A member as it was and as it will be, in a group that is about to change."""

    old: Member
    new: Member
    group_epoch: int
    subscriptions: Subscriptions
    member_count: int


class TargetAssignments:
    """Of all groups of a coordinator."""

    def __init__(
        self, config: ConsumerGroupConfig, settings: GroupSettings, topics: Topics
    ) -> None:
        self._config = config
        self._settings = settings
        self._topics = topics

    def update(
        self, group: ConsumerGroup, change: Change, now_ms: int, outcome: GroupOutcome
    ) -> Target:
        """A new target if the group has moved on and the last one is old enough."""
        if group.assignment_epoch >= change.group_epoch or self._is_too_early(group, now_ms):
            return Target(group.assignment_epoch, group.target_of(change.new))
        name = group.members.preferred_assignor(change.old, change.new)
        if name not in self._config.assignors:
            name = self._config.assignors[0]
        spec = self._spec(group, change)
        targets = ASSIGNORS[name](spec)
        before = len(outcome.records)
        for member in spec.members:
            target = targets.get(member.member_id, {})
            if target != group.targets.get(member.member_id):
                outcome.records.append(
                    target_assignment_record(group.group_id, member.member_id, target)
                )
        if len(outcome.records) - before > _ATOMIC_MAX:
            outcome.is_atomic = False
        outcome.records.append(assignment_epoch_record(group.group_id, change.group_epoch, now_ms))
        logger.info(
            "Group %s has a target assignment for epoch %d by %s: %d of %d members change",
            group.group_id,
            change.group_epoch,
            name,
            len(outcome.records) - before - 1,
            len(spec.members),
        )
        return Target(change.group_epoch, targets.get(change.new.member_id, {}))

    def _is_too_early(self, group: ConsumerGroup, now_ms: int) -> bool:
        """Members that come one after another share an assignment (KIP-1263)."""
        if not group.assignment_timestamp_ms:
            return False
        interval_ms = self._config.timing(self._settings(group.group_id)).assignment_interval_ms
        return now_ms < group.assignment_timestamp_ms + interval_ms

    def _spec(self, group: ConsumerGroup, change: Change) -> GroupSpec:
        new = change.new
        replaced = group.members.static(new.instance_id)
        reading = ReadTopics(self._topics, change.subscriptions)
        members = []
        is_known = False
        for member in group.members:
            if member.member_id == new.member_id:
                member, is_known = new, True
            elif replaced is not None and member.member_id == replaced.member_id:
                continue
            members.append(self._member_spec(group, member, reading))
        if not is_known:
            members.append(self._member_spec(group, new, reading))
        return GroupSpec(
            members,
            dict(sorted(reading.partition_counts.items())),
            change.subscriptions.are_all_the_same(change.member_count),
        )

    def _member_spec(self, group: ConsumerGroup, member: Member, reading: ReadTopics) -> MemberSpec:
        return MemberSpec(
            member.member_id, member.instance_id, reading.of(member), group.target_of(member)
        )


class ReadTopics:
    """Which topics members read, as ids; members with the same subscription share the answer."""

    def __init__(self, topics: Topics, subscriptions: Subscriptions) -> None:
        self.partition_counts: dict[bytes, int] = {}
        self._topics = topics
        self._subscriptions = subscriptions
        self._shared: dict[tuple[frozenset[str], str], frozenset[bytes]] = {}

    def of(self, member: Member) -> frozenset[bytes]:
        key = (member.subscribed_topic_names, member.subscribed_topic_regex)
        topic_ids = self._shared.get(key)
        if topic_ids is None:
            views = map(self._topics.named, self._subscriptions.topics_of(member))
            found = {view.topic_id: view.partition_count for view in views if view is not None}
            self.partition_counts.update(found)
            topic_ids = self._shared[key] = frozenset(found)
        return topic_ids
