"""From one generation to the next: who is waited for, for how long, and what ends the wait."""

from __future__ import annotations

import logging

from headrace.base.errors import ErrorCode
from headrace.base.outcome import CancelTimer, SetTimer
from headrace.groups.call import GroupOutcome
from headrace.groups.classic.group import ClassicGroup, InitialRound
from headrace.groups.classic.group_record import group_record
from headrace.groups.classic.replies import joined, not_synced, take_join_token, take_sync_token
from headrace.groups.classic.states import HAS_GENERATION, State
from headrace.groups.config import GroupConfig
from headrace.groups.timer_names import TimerName

logger = logging.getLogger(__name__)

JOIN_TIMER = "classic-join"
SYNC_TIMER = "classic-sync"


class Rebalance:
    """The steps that several requests and timers share; each adds to the outcome at hand."""

    def __init__(self, config: GroupConfig) -> None:
        self._config = config

    def prepare_or_complete(
        self, group: ClassicGroup, reason: str, now_ms: int, outcome: GroupOutcome
    ) -> None:
        """Something changed: start a rebalance, or see whether the running one is through."""
        if group.state in (State.STABLE, State.COMPLETING_REBALANCE, State.EMPTY):
            self.prepare(group, reason, now_ms, outcome)
        else:
            self.complete_if_all_joined(group, now_ms, outcome)

    def prepare(self, group: ClassicGroup, reason: str, now_ms: int, outcome: GroupOutcome) -> None:
        """Ask everybody to join again."""
        if group.state is State.COMPLETING_REBALANCE:
            self.refuse_syncs(group, ErrorCode.REBALANCE_IN_PROGRESS, now_ms, outcome)
        group.pending_syncs.clear()
        outcome.timers.append(CancelTimer(_sync_timer(group)))
        is_initial = group.state is State.EMPTY
        group.enter(State.PREPARING_REBALANCE, now_ms)
        logger.info(
            "Group %s prepares to rebalance after generation %d: %s",
            group.group_id,
            group.generation,
            reason,
        )
        if not is_initial:
            self._complete_or_wait(group, now_ms, outcome)
            return
        delay_ms = self._config.initial_rebalance_delay_ms
        remaining_ms = max(group.members.rebalance_timeout_ms - delay_ms, 0)
        group.has_new_member = False
        group.initial_round = InitialRound(delay_ms, remaining_ms)
        outcome.timers.append(SetTimer(_join_timer(group), now_ms + delay_ms))

    def complete_if_all_joined(
        self, group: ClassicGroup, now_ms: int, outcome: GroupOutcome
    ) -> None:
        """End the join phase early, except in the first rebalance, which waits for more."""
        if (
            group.state is State.PREPARING_REBALANCE
            and group.previous_state is not State.EMPTY
            and group.has_all_joined
        ):
            self.complete_join(group, now_ms, outcome)

    def join_timer_expired(self, group: ClassicGroup, now_ms: int, outcome: GroupOutcome) -> None:
        initial = group.initial_round
        if initial is not None and group.has_new_member and initial.remaining_ms > 0:
            # Members still keep coming: they get another delay, up to the rebalance time-out.
            group.has_new_member = False
            delay_ms = min(self._config.initial_rebalance_delay_ms, initial.remaining_ms)
            remaining_ms = max(initial.remaining_ms - initial.delay_ms, 0)
            group.initial_round = InitialRound(delay_ms, remaining_ms)
            outcome.timers.append(SetTimer(_join_timer(group), now_ms + delay_ms))
        elif group.state is State.PREPARING_REBALANCE:
            self.complete_join(group, now_ms, outcome)

    def complete_join(self, group: ClassicGroup, now_ms: int, outcome: GroupOutcome) -> None:
        """Whoever has joined by now makes up the next generation."""
        outcome.timers.append(CancelTimer(_join_timer(group)))
        group.initial_round = None
        absent = [m for m in group.members if m.join_token is None and not m.is_static]
        for member in absent:
            group.remove(member.member_id)
            outcome.timers.append(CancelTimer(group.session_timer_name(member.member_id)))
        if group.members and not group.elect_joined_leader():
            # Static members keep their place, but without anybody there is nobody to assign.
            self._wait_for_joins(group, now_ms, outcome)
            return
        group.generation += 1
        if not group.members:
            self._become_empty(group, now_ms, outcome)
            return
        group.protocol_name = group.members.elected_protocol()
        group.update_subscribed_topics()
        group.enter(State.COMPLETING_REBALANCE, now_ms)
        self._answer_joins(group, now_ms, outcome)

    def refuse_syncs(
        self, group: ClassicGroup, error: ErrorCode, now_ms: int, outcome: GroupOutcome
    ) -> None:
        """The assignment will not come, or was not stored: nobody has one."""
        for member in group.members:
            member.assignment = b""
            token = take_sync_token(member)
            if token is not None:
                outcome.replies.append((token, not_synced(error)))
                outcome.timers.append(group.session_timer(member, now_ms))

    def sync_timer_expired(self, group: ClassicGroup, now_ms: int, outcome: GroupOutcome) -> None:
        """Members that never asked for their assignment are gone."""
        if group.state not in HAS_GENERATION or not group.pending_syncs:
            return
        silent = list(group.pending_syncs)
        for member_id in silent:
            group.remove(member_id)
            outcome.timers.append(CancelTimer(group.session_timer_name(member_id)))
        self.prepare(group, f"no sync from {', '.join(silent)}", now_ms, outcome)

    def received_sync(self, group: ClassicGroup, member_id: str, outcome: GroupOutcome) -> None:
        group.pending_syncs.pop(member_id, None)
        if not group.pending_syncs:
            outcome.timers.append(CancelTimer(_sync_timer(group)))

    def _become_empty(self, group: ClassicGroup, now_ms: int, outcome: GroupOutcome) -> None:
        group.protocol_name = None
        group.update_subscribed_topics()
        group.enter(State.EMPTY, now_ms)
        group.pending_syncs.clear()
        logger.info("Group %s with generation %d is empty", group.group_id, group.generation)
        outcome.records.append(group_record(group, {}))

    def _answer_joins(self, group: ClassicGroup, now_ms: int, outcome: GroupOutcome) -> None:
        logger.info(
            "Group %s has generation %d with %d members and protocol %s",
            group.group_id,
            group.generation,
            len(group.members),
            group.protocol_name,
        )
        group.pending_syncs.clear()
        for member in group.members:
            is_leader = member.member_id == group.leader
            token = take_join_token(group, member)
            if token is not None:
                answer = joined(group, member.member_id, for_leader=is_leader)
                outcome.replies.append((token, answer))
            outcome.timers.append(group.session_timer(member, now_ms))
            member.is_new = False
            group.pending_syncs[member.member_id] = None
        wait_ms = group.members.rebalance_timeout_ms
        outcome.timers.append(SetTimer(_sync_timer(group), now_ms + wait_ms))

    def _complete_or_wait(self, group: ClassicGroup, now_ms: int, outcome: GroupOutcome) -> None:
        if group.has_all_joined:
            self.complete_join(group, now_ms, outcome)
        else:
            self._wait_for_joins(group, now_ms, outcome)

    def _wait_for_joins(self, group: ClassicGroup, now_ms: int, outcome: GroupOutcome) -> None:
        wait_ms = group.members.rebalance_timeout_ms
        outcome.timers.append(SetTimer(_join_timer(group), now_ms + wait_ms))


def _join_timer(group: ClassicGroup) -> str:
    return str(TimerName(JOIN_TIMER, group.group_id))


def _sync_timer(group: ClassicGroup) -> str:
    return str(TimerName(SYNC_TIMER, group.group_id))
