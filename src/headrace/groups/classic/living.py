"""Who is still there: Heartbeat, LeaveGroup, and sessions that run out."""

from __future__ import annotations

import logging

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import CancelTimer, Outcome
from headrace.groups.call import Call, GroupOutcome
from headrace.groups.classic.group import ClassicGroup
from headrace.groups.classic.member import ClassicMember
from headrace.groups.classic.rebalance import Rebalance
from headrace.groups.classic.replies import (
    not_joined,
    not_synced,
    take_join_token,
    take_sync_token,
)
from headrace.groups.classic.states import HAS_GENERATION, State
from headrace.groups.group_store import GroupStore
from headrace.groups.timer_names import TimerName
from headrace.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from headrace.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)

logger = logging.getLogger(__name__)


class Living:
    """Keeps members, and lets them go."""

    def __init__(self, groups: GroupStore, rebalance: Rebalance) -> None:
        self._groups = groups
        self._rebalance = rebalance

    def heartbeat(self, call: Call[HeartbeatRequest]) -> GroupOutcome:
        request = call.request
        if not request.group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        group = self._require(request.group_id)
        group.validate_member(request.member_id, request.group_instance_id)
        if request.generation_id != group.generation:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        response = HeartbeatResponse()
        if group.state is State.PREPARING_REBALANCE:
            response.error_code = int(ErrorCode.REBALANCE_IN_PROGRESS)
        outcome = call.answer(response)
        member = group.members[request.member_id]
        outcome.timers.append(group.session_timer(member, call.now_ms))
        return outcome

    def leave(self, call: Call[LeaveGroupRequest]) -> GroupOutcome:
        request = call.request
        if not request.group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        outcome: GroupOutcome = Outcome()
        response = LeaveGroupResponse()
        group = self._groups.get(request.group_id)
        if not isinstance(group, ClassicGroup):
            response.members = [
                _left(identity, ErrorCode.UNKNOWN_MEMBER_ID) for identity in request.members
            ]
            return call.answer(response)
        gone = []
        for identity in request.members:
            error = self._leave_one(group, identity, outcome)
            response.members.append(_left(identity, error))
            if error is ErrorCode.NONE:
                gone.append(identity.member_id or identity.group_instance_id or "")
        if gone and group.state in HAS_GENERATION:
            self._rebalance.prepare(group, f"{', '.join(gone)} left", call.now_ms, outcome)
        elif gone:
            self._rebalance.complete_if_all_joined(group, call.now_ms, outcome)
        outcome.replies.append((call.token, response))
        return outcome

    def session_expired(self, name: TimerName, now_ms: int) -> GroupOutcome:
        outcome: GroupOutcome = Outcome()
        group = self._groups.get(name.group_id)
        if not isinstance(group, ClassicGroup):
            return outcome
        member_id = name.detail
        if member_id in group.pending_joins:
            group.remove(member_id)
        elif member_id in group.members and not group.members[member_id].is_alive_by_waiting:
            logger.info("Member %s of group %s is silent and out", member_id, group.group_id)
            self._remove(group, group.members[member_id], outcome)
            if group.state in HAS_GENERATION:
                self._rebalance.prepare(group, f"{member_id} was silent", now_ms, outcome)
                return outcome
        else:
            return outcome
        if group.state is State.PREPARING_REBALANCE and group.has_all_joined:
            self._rebalance.complete_join(group, now_ms, outcome)
        return outcome

    def _require(self, group_id: str) -> ClassicGroup:
        group = self._groups.get(group_id)
        if not isinstance(group, ClassicGroup):
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Group {group_id} not found.")
        return group

    def _leave_one(
        self, group: ClassicGroup, identity: MemberIdentity, outcome: GroupOutcome
    ) -> ErrorCode:
        member_id, instance_id = identity.member_id, identity.group_instance_id
        if member_id in group.pending_joins:
            group.remove(member_id)
            outcome.timers.append(CancelTimer(group.session_timer_name(member_id)))
            return ErrorCode.NONE
        if not member_id and instance_id is not None:
            # An administrator removes whoever holds the instance id.
            member_id = group.members.static_id(instance_id) or ""
        try:
            group.validate_member(member_id, instance_id)
        except KafkaError as error:
            return error.code
        outcome.timers.append(CancelTimer(group.session_timer_name(member_id)))
        self._remove(group, group.members[member_id], outcome)
        return ErrorCode.NONE

    def _remove(self, group: ClassicGroup, member: ClassicMember, outcome: GroupOutcome) -> None:
        """Take a member out; if it waits for an answer, it hears that it is none."""
        token = take_join_token(group, member)
        if token is not None:
            outcome.replies.append((token, not_joined("", ErrorCode.UNKNOWN_MEMBER_ID)))
        token = take_sync_token(member)
        if token is not None:
            outcome.replies.append((token, not_synced(ErrorCode.UNKNOWN_MEMBER_ID)))
        group.remove(member.member_id)


def _left(identity: MemberIdentity, error: ErrorCode) -> MemberResponse:
    return MemberResponse(
        member_id=identity.member_id,
        group_instance_id=identity.group_instance_id,
        error_code=int(error),
    )
