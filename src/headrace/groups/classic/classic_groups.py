"""The part of a coordinator that looks after classic groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.base.outcome import Outcome
from headrace.groups.call import GroupOutcome
from headrace.groups.classic.group import SESSION_TIMER, ClassicGroup
from headrace.groups.classic.group_record import restored_group, take_over
from headrace.groups.classic.joining import Joining
from headrace.groups.classic.living import Living
from headrace.groups.classic.rebalance import JOIN_TIMER, SYNC_TIMER, Rebalance
from headrace.groups.classic.states import State
from headrace.groups.classic.static_members import StaticMembers
from headrace.groups.classic.syncing import Syncing
from headrace.groups.config import GroupConfig
from headrace.groups.group_store import GroupStore
from headrace.groups.part import Apply, Expire, Handle, Part
from headrace.groups.records import GroupMetadataKey, GroupMetadataValue
from headrace.groups.timer_names import TimerName
from headrace.protocol.coordinator_record import CoordinatorRecord
from headrace.protocol.messages.heartbeat import HeartbeatRequest
from headrace.protocol.messages.join_group import JoinGroupRequest
from headrace.protocol.messages.leave_group import LeaveGroupRequest
from headrace.protocol.messages.sync_group import SyncGroupRequest


class ClassicGroups(Part):
    """Wires the requests of members to the modules beside this one."""

    def __init__(self, config: GroupConfig, groups: GroupStore, new_id: Callable[[], str]) -> None:
        self._config = config
        self._groups = groups
        self.rebalance = Rebalance(config)
        static_members = StaticMembers(self.rebalance)
        self.joining = Joining(config, groups, self.rebalance, static_members, new_id)
        self._syncing = Syncing(groups, self.rebalance)
        self._living = Living(groups, self.rebalance)
        self._is_loaded = False
        self._expected: dict[str, ClassicGroup] = {}

    def member_requests(self) -> Mapping[type[Any], Handle]:
        return {
            JoinGroupRequest: self.joining.join,
            SyncGroupRequest: self._syncing.sync,
            HeartbeatRequest: self._living.heartbeat,
            LeaveGroupRequest: self._living.leave,
        }

    def records(self) -> Mapping[type[CoordinatorRecord], Apply]:
        return {GroupMetadataKey: self._apply}

    def timers(self) -> Mapping[str, Expire]:
        return {
            SESSION_TIMER: self._living.session_expired,
            JOIN_TIMER: self._join_timer_expired,
            SYNC_TIMER: self._sync_timer_expired,
        }

    def loaded(self, now_ms: int) -> GroupOutcome:
        """Members of the last run have their session time to show up."""
        self._is_loaded = True
        outcome: GroupOutcome = Outcome()
        for group in self._groups:
            if isinstance(group, ClassicGroup):
                for member in group.members:
                    outcome.timers.append(group.session_timer(member, now_ms))
                if len(group.members) > self._config.members_max:
                    reason = "the group is larger than group.max.size"
                    self.rebalance.prepare(group, reason, now_ms, outcome)
        return outcome

    def expect(self, group: ClassicGroup) -> None:
        """A group that becomes classic when its record is applied, with what no record holds."""
        self._expected[group.group_id] = group

    def _apply(
        self, key: GroupMetadataKey, value: GroupMetadataValue | None, producer_id: int
    ) -> None:
        group = self._groups.get(key.group)
        if value is None:
            if isinstance(group, ClassicGroup):
                # Under another type it lives on: loading need not see its records in order.
                group.state = State.DEAD
                self._groups.remove(key.group)
        elif self._is_loaded and isinstance(group, ClassicGroup):
            take_over(group, value)
        else:
            expected = self._expected.pop(key.group, None)
            self._groups.put(expected or restored_group(key.group, value))

    def _join_timer_expired(self, name: TimerName, now_ms: int) -> GroupOutcome:
        outcome: GroupOutcome = Outcome()
        group = self._groups.get(name.group_id)
        if isinstance(group, ClassicGroup):
            self.rebalance.join_timer_expired(group, now_ms, outcome)
        return outcome

    def _sync_timer_expired(self, name: TimerName, now_ms: int) -> GroupOutcome:
        outcome: GroupOutcome = Outcome()
        group = self._groups.get(name.group_id)
        if isinstance(group, ClassicGroup):
            self.rebalance.sync_timer_expired(group, now_ms, outcome)
        return outcome
