"""Target assignments of large groups, made in steps between which others have their turn.

The work starts from a snapshot of the group. What it finds is written in portions, and only the
last one says that the target is complete; until then the group counts as not assigned. Members that
have left meanwhile are left out, those that have come get theirs with the next target.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from headrace.base.outcome import Outcome, SetTimer
from headrace.groups.call import GroupOutcome
from headrace.groups.consumer.assignors.spec import Assignor, Steps, Targets, slices
from headrace.groups.consumer.config import ConsumerGroupConfig
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.consumer.group_records import assignment_epoch_record
from headrace.groups.consumer.member_records import target_assignment_record
from headrace.groups.consumer.target_assignment import TargetAssignments
from headrace.groups.consumer.target_spec import Snapshot, group_spec
from headrace.groups.group import KeyValue
from headrace.groups.group_store import GroupStore
from headrace.groups.timer_names import TimerName
from headrace.groups.topics import Topics

logger = logging.getLogger(__name__)


class _Work:
    """One target in the making; `portions` yields what is to be written, often nothing."""

    def __init__(
        self, group: ConsumerGroup, assignor: Assignor, topics: Topics, records_max: int
    ) -> None:
        self.group = group
        self.epoch = group.group_epoch
        snapshot = Snapshot(
            list(group.members),
            dict(group.targets),
            group.members.subscriptions.copy(),
            group.subscriptions_are_all_the_same,
        )
        self.portions = self._portions(_targets(snapshot, assignor, topics), records_max)

    def _portions(self, steps: Steps[Targets], records_max: int) -> Iterator[list[KeyValue]]:
        targets: Targets = {}
        while not targets:
            try:
                next(steps)
            except StopIteration as done:
                targets = done.value
                break
            yield []
        records: list[KeyValue] = []
        for some in slices(list(targets.items())):
            for member_id, target in some:
                known = self.group.targets.get(member_id)
                if member_id in self.group.members and target is not known and target != known:
                    record = target_assignment_record(self.group.group_id, member_id, target)
                    records.append(record)
                if len(records) >= records_max:
                    yield records
                    records = []
            yield records
            records = []


def _targets(snapshot: Snapshot, assignor: Assignor, topics: Topics) -> Steps[Targets]:
    spec = yield from group_spec(snapshot, topics)
    return (yield from assignor(spec))


class LargeAssignments:
    """Of all groups of a coordinator, one target per group at a time."""

    def __init__(
        self,
        config: ConsumerGroupConfig,
        groups: GroupStore,
        topics: Topics,
        targets: TargetAssignments,
    ) -> None:
        self._config = config
        self._groups = groups
        self._topics = topics
        self._targets = targets
        self._running: dict[str, _Work] = {}

    def timer_expired(self, name: TimerName, now_ms: int) -> GroupOutcome:
        """Do one step, and come back for the next."""
        outcome: GroupOutcome = Outcome(is_atomic=False)
        group = self._groups.get(name.group_id)
        work = self._running.pop(name.group_id, None)
        if not isinstance(group, ConsumerGroup):
            return outcome
        if work is None or work.group is not group:
            if not self._is_due(group, now_ms):
                return outcome
            assignor = self._targets.assignor(group)
            work = _Work(group, assignor, self._topics, self._config.records_at_once_max)
        try:
            outcome.records = next(work.portions)
        except StopIteration:
            outcome.records = [assignment_epoch_record(group.group_id, work.epoch, now_ms)]
            logger.info("Group %s has a target for epoch %d", group.group_id, work.epoch)
            return outcome
        self._running[name.group_id] = work
        outcome.timers.append(SetTimer(str(name), now_ms))
        # What could not be written is made anew when the next member asks for it.
        outcome.if_failed = lambda *_: self._give_up(name.group_id)
        return outcome

    def _is_due(self, group: ConsumerGroup, now_ms: int) -> bool:
        return (
            len(group.members) > 0
            and group.assignment_epoch < group.group_epoch
            and not self._targets.is_too_early(group, now_ms)
        )

    def _give_up(self, group_id: str) -> GroupOutcome:
        self._running.pop(group_id, None)
        return Outcome()
