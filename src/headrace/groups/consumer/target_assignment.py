"""Makes the target assignment of a group: asks its assignor, and writes what has changed."""

from __future__ import annotations

from typing import NamedTuple

from headrace.base.outcome import SetTimer
from headrace.groups.call import GroupOutcome
from headrace.groups.consumer.assignors.catalog import ASSIGNORS
from headrace.groups.consumer.assignors.spec import Assignor, finish
from headrace.groups.consumer.config import ConsumerGroupConfig, GroupSettings
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.consumer.group_records import assignment_epoch_record
from headrace.groups.consumer.member import Member, Partitions
from headrace.groups.consumer.member_records import target_assignment_record
from headrace.groups.consumer.subscriptions import Subscriptions
from headrace.groups.consumer.target_spec import Snapshot, group_spec
from headrace.groups.timer_names import TimerName
from headrace.groups.topics import Topics

ASSIGNMENT_TIMER = "consumer-assignment"


class Target(NamedTuple):
    """For one member."""

    epoch: int
    partitions: Partitions
    #: 0 if nobody kept the time.
    made_ms: int


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
        last = last_target(group, change.new)
        if group.assignment_epoch >= change.group_epoch or self.is_too_early(group, now_ms):
            return last
        if self._is_large(change):
            # The others need not wait for it: it is made in small steps, after this heartbeat.
            name = str(TimerName(ASSIGNMENT_TIMER, group.group_id))
            outcome.timers.append(SetTimer(name, now_ms))
            return last
        snapshot = _snapshot(group, change)
        spec = finish(group_spec(snapshot, self._topics))
        targets = finish(self.assignor(group, change.old, change.new)(spec))
        for member in spec.members:
            target = targets.get(member.member_id, {})
            if target != group.targets.get(member.member_id):
                outcome.records.append(
                    target_assignment_record(group.group_id, member.member_id, target)
                )
        outcome.records.append(assignment_epoch_record(group.group_id, change.group_epoch, now_ms))
        return Target(change.group_epoch, targets.get(change.new.member_id, {}), now_ms)

    def is_too_early(self, group: ConsumerGroup, now_ms: int) -> bool:
        """Members that come one after another share an assignment (KIP-1263)."""
        if not group.assignment_timestamp_ms:
            return False
        interval_ms = self._config.timing(self._settings(group.group_id)).assignment_interval_ms
        return now_ms < group.assignment_timestamp_ms + interval_ms

    def assignor(
        self, group: ConsumerGroup, old: Member | None = None, new: Member | None = None
    ) -> Assignor:
        """The one that most members ask for, with `new` in the place of `old`."""
        name = group.members.preferred_assignor(old, new)
        if name not in self._config.assignors:
            name = self._config.assignors[0]
        return ASSIGNORS[name]

    def _is_large(self, change: Change) -> bool:
        size = change.member_count
        for name in change.subscriptions.topics:
            if size > self._config.assigned_at_once_max:
                break
            view = self._topics.named(name)
            size += 1 if view is None else view.partition_count
        return size > self._config.assigned_at_once_max


def last_target(group: ConsumerGroup, member: Member) -> Target:
    """The one that the group has, whether or not it has moved on since."""
    made_ms = group.assignment_timestamp_ms
    return Target(group.assignment_epoch, group.target_of(member), made_ms)


def _snapshot(group: ConsumerGroup, change: Change) -> Snapshot:
    """The group with the member as it will be, in the place of the one that it replaces."""
    new = change.new
    replaced = group.members.static(new.instance_id)
    members = {
        member.member_id: member
        for member in group.members
        if replaced is None or member.member_id != replaced.member_id
    }
    members[new.member_id] = new
    targets = group.targets
    if replaced is not None and replaced.member_id in targets:
        targets = {**targets, new.member_id: targets[replaced.member_id]}
    return Snapshot(
        list(members.values()),
        targets,
        change.subscriptions,
        change.subscriptions.are_all_the_same(change.member_count),
    )
