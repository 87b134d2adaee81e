"""Static members (KIP-345): a client that comes back under its instance id takes its own place."""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import CancelTimer, Outcome
from headrace.groups.call import Call, GroupOutcome
from headrace.groups.classic.group import ClassicGroup
from headrace.groups.classic.group_record import group_record
from headrace.groups.classic.member import ClassicMember, offered
from headrace.groups.classic.rebalance import Rebalance
from headrace.groups.classic.replies import (
    fenced_join,
    joined,
    not_joined,
    not_synced,
    take_join_token,
    take_sync_token,
)
from headrace.groups.classic.states import State
from headrace.protocol.messages.join_group import JoinGroupRequest

#: Since this version a leader can be told not to assign (KIP-814).
_SUPPORTS_SKIPPING_ASSIGNMENT = 9


class StaticMembers:
    """Lets a new member id take the place of an old one."""

    def __init__(self, rebalance: Rebalance) -> None:
        self._rebalance = rebalance

    def replace(
        self, call: Call[JoinGroupRequest], group: ClassicGroup, old_id: str, new_id: str
    ) -> GroupOutcome:
        """The client with the old id is fenced; the new one gets what it had."""
        outcome: GroupOutcome = Outcome()
        leader_before = group.leader
        old = group.members[old_id]
        self._fence(group, old, outcome)
        member = _swap(group, old, new_id)
        update(call, group, member, outcome)
        outcome.timers.append(group.session_timer(member, call.now_ms, old.session_timeout_ms))
        if group.state is State.STABLE:
            if group.members.elected_protocol() == group.protocol_name:
                self._step_in(call, group, member, leader_before, outcome)
                outcome.if_failed = _Undo(call, group, old, new_id)
            else:
                reason = f"static member {member.group_instance_id} changes the protocol"
                self._rebalance.prepare(group, reason, call.now_ms, outcome)
        elif group.state is State.COMPLETING_REBALANCE:
            reason = f"static member {member.group_instance_id} came back"
            self._rebalance.prepare(group, reason, call.now_ms, outcome)
        else:
            self._rebalance.complete_if_all_joined(group, call.now_ms, outcome)
        return outcome

    def _step_in(
        self,
        call: Call[JoinGroupRequest],
        group: ClassicGroup,
        member: ClassicMember,
        leader_before: str | None,
        outcome: GroupOutcome,
    ) -> None:
        """Nothing changes for the others, so there is no rebalance: the assignment stays."""
        assignments = {one.member_id: one.assignment for one in group.members}
        outcome.records.append(group_record(group, assignments))
        take_join_token(group, member)
        is_leader = group.leader == member.member_id
        if call.client.api_version >= _SUPPORTS_SKIPPING_ASSIGNMENT:
            answer = joined(
                group, member.member_id, for_leader=is_leader, skip_assignment=is_leader
            )
        else:
            # An older client that finds itself leader would assign; so it hears the old id.
            answer = joined(group, member.member_id, for_leader=False)
            answer.leader = leader_before or ""
        outcome.replies.append((call.token, answer))

    def _fence(self, group: ClassicGroup, old: ClassicMember, outcome: GroupOutcome) -> None:
        token = take_join_token(group, old)
        if token is not None:
            outcome.replies.append((token, fenced_join(old.member_id)))
        token = take_sync_token(old)
        if token is not None:
            outcome.replies.append((token, not_synced(ErrorCode.FENCED_INSTANCE_ID)))
        outcome.timers.append(CancelTimer(group.session_timer_name(old.member_id)))


class _Undo:
    """The log did not take the new id: the old one is the member again."""

    def __init__(
        self, call: Call[JoinGroupRequest], group: ClassicGroup, old: ClassicMember, new_id: str
    ) -> None:
        self._call = call
        self._group = group
        self._old = old
        self._new_id = new_id

    def __call__(self, error: KafkaError, now_ms: int) -> GroupOutcome:
        group = self._group
        group.members.remove(self._new_id)
        group.members.add(self._old)
        if group.leader == self._new_id:
            group.leader = self._old.member_id
        outcome = self._call.answer(not_joined("", error.code))
        outcome.timers.append(group.session_timer(self._old, now_ms))
        return outcome


def _swap(group: ClassicGroup, old: ClassicMember, new_id: str) -> ClassicMember:
    member = ClassicMember(
        new_id,
        old.group_instance_id,
        old.client_id,
        old.client_host,
        old.rebalance_timeout_ms,
        old.session_timeout_ms,
        old.protocols,
        old.assignment,
    )
    group.members.remove(old.member_id)
    group.members.add(member)
    if group.leader == old.member_id:
        group.leader = new_id
    return member


def update(
    call: Call[JoinGroupRequest],
    group: ClassicGroup,
    member: ClassicMember,
    outcome: GroupOutcome,
) -> None:
    """Take over what a member says now; it waits for the next generation."""
    request = call.request
    group.members.offer(member, offered(request.protocols))
    member.rebalance_timeout_ms = request.rebalance_timeout_ms
    member.session_timeout_ms = request.session_timeout_ms
    before = group.members.await_join(member, call.token)
    if before is not None:
        # The same member asked twice; only one answer of the generation can count.
        answer = not_joined(member.member_id, ErrorCode.REBALANCE_IN_PROGRESS)
        outcome.replies.append((before, answer))
