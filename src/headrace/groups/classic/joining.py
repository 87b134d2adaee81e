"""JoinGroup: a member, new or known, wants to be in the next generation."""

from __future__ import annotations

from collections.abc import Callable

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import Outcome, SetTimer
from headrace.groups.call import Call, GroupOutcome
from headrace.groups.classic.group import ClassicGroup
from headrace.groups.classic.group_record import new_group_record
from headrace.groups.classic.member import ClassicMember, offered
from headrace.groups.classic.rebalance import Rebalance
from headrace.groups.classic.replies import joined, not_joined
from headrace.groups.classic.states import State
from headrace.groups.classic.static_members import StaticMembers, update
from headrace.groups.config import GroupConfig
from headrace.groups.group_store import GroupStore
from headrace.protocol.messages.join_group import JoinGroupRequest

#: Since this version a client first gets its id, then joins with it (KIP-394).
_REQUIRES_KNOWN_MEMBER_ID = 4

JoinCall = Call[JoinGroupRequest]


class Joining:
    """Serves JoinGroup to classic groups."""

    def __init__(
        self,
        config: GroupConfig,
        groups: GroupStore,
        rebalance: Rebalance,
        static_members: StaticMembers,
        new_id: Callable[[], str],
    ) -> None:
        self._config = config
        self._groups = groups
        self._rebalance = rebalance
        self._static_members = static_members
        self._new_id = new_id

    def join(self, call: JoinCall) -> GroupOutcome:
        request = call.request
        self.check(request)
        group = self._groups.get(request.group_id)
        if group is not None:
            if not isinstance(group, ClassicGroup):
                raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
            return self._join(call, group)
        if request.member_id:
            # A group that does not exist has given nobody an id.
            return call.answer(not_joined(request.member_id, ErrorCode.UNKNOWN_MEMBER_ID))
        group = ClassicGroup(request.group_id, call.now_ms)
        outcome = self._join(call, group)
        if group.members or group.pending_joins:
            self._groups.put(group)
            self._write_new_group(call, group, outcome)
        return outcome

    def check(self, request: JoinGroupRequest) -> None:
        if not request.group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        config = self._config
        timeout_ms = request.session_timeout_ms
        if not config.session_timeout_ms_min <= timeout_ms <= config.session_timeout_ms_max:
            raise KafkaError(ErrorCode.INVALID_SESSION_TIMEOUT)

    def _write_new_group(self, call: JoinCall, group: ClassicGroup, outcome: GroupOutcome) -> None:
        """The first sign of a group goes into the log: a full or failed log refuses it early."""

        def failed(error: KafkaError, now_ms: int) -> GroupOutcome:
            self._groups.remove(group.group_id)
            return call.answer(not_joined("", error.code))

        outcome.records.append(new_group_record(group))
        outcome.if_failed = failed

    def _join(self, call: JoinCall, group: ClassicGroup) -> GroupOutcome:
        request = call.request
        if not self._has_room(group, request.member_id):
            group.remove(request.member_id)
            return call.answer(not_joined("", ErrorCode.GROUP_MAX_SIZE_REACHED))
        if not group.supports(request.protocol_type, [one.name for one in request.protocols]):
            code = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
            return call.answer(not_joined(request.member_id, code))
        if request.member_id:
            return self._join_known(call, group)
        return self._join_unknown(call, group)

    def _has_room(self, group: ClassicGroup, member_id: str) -> bool:
        limit = self._config.members_max
        if group.state is State.PREPARING_REBALANCE:
            # After a restart with a smaller limit, whoever rejoins first stays.
            is_in = member_id in group.members and group.members[member_id].join_token is not None
            return is_in or group.members.joining < limit
        if group.state is State.EMPTY:
            return True
        return member_id in group.members or len(group.members) < limit

    def _join_unknown(self, call: JoinCall, group: ClassicGroup) -> GroupOutcome:
        """The client has no member id yet."""
        request = call.request
        instance_id = request.group_instance_id
        prefix = call.client.client_id if instance_id is None else instance_id
        member_id = f"{prefix}-{self._new_id()}"
        if instance_id is not None:
            replaced = group.members.static_id(instance_id)
            if replaced is not None:
                return self._static_members.replace(call, group, replaced, member_id)
            return self._add(call, group, member_id)
        if call.client.api_version < _REQUIRES_KNOWN_MEMBER_ID:
            return self._add(call, group, member_id)
        group.pending_joins[member_id] = None
        outcome = call.answer(not_joined(member_id, ErrorCode.MEMBER_ID_REQUIRED))
        timer = group.session_timer_name(member_id)
        outcome.timers.append(SetTimer(timer, call.now_ms + request.session_timeout_ms))
        return outcome

    def _join_known(self, call: JoinCall, group: ClassicGroup) -> GroupOutcome:
        request = call.request
        member_id = request.member_id
        if member_id in group.pending_joins:
            if request.group_instance_id is not None:
                # The id was drawn for a client without an instance id; Kafka knows no answer.
                return call.answer(not_joined("", ErrorCode.UNKNOWN_SERVER_ERROR))
            return self._add(call, group, member_id)
        try:
            group.validate_member(member_id, request.group_instance_id)
        except KafkaError as error:
            return call.answer(not_joined(member_id, error.code))
        member = group.members[member_id]
        is_leader = member_id == group.leader
        is_unchanged = member.protocols == offered(request.protocols)
        if group.state is State.COMPLETING_REBALANCE and is_unchanged:
            # It missed the answer to its join: the generation is the same.
            return call.answer(joined(group, member_id, for_leader=is_leader))
        if group.state is State.STABLE and is_unchanged and not is_leader:
            return call.answer(joined(group, member_id, for_leader=False))
        if group.state is State.EMPTY:
            return call.answer(not_joined(member_id, ErrorCode.UNKNOWN_MEMBER_ID))
        return self._rejoin(call, group, member)

    def _rejoin(self, call: JoinCall, group: ClassicGroup, member: ClassicMember) -> GroupOutcome:
        """A member with news, or a leader that wants to assign again."""
        outcome: GroupOutcome = Outcome()
        update(call, group, member, outcome)
        reason = f"{member.member_id} joins again: {call.request.reason or 'no reason given'}"
        self._rebalance.prepare_or_complete(group, reason, call.now_ms, outcome)
        return outcome

    def _add(self, call: JoinCall, group: ClassicGroup, member_id: str) -> GroupOutcome:
        request = call.request
        outcome: GroupOutcome = Outcome()
        member = ClassicMember(
            member_id,
            request.group_instance_id,
            call.client.client_id,
            call.client.shown_host,
            request.rebalance_timeout_ms,
            request.session_timeout_ms,
            offered(request.protocols),
            join_token=call.token,
            is_new=True,
        )
        is_initial = group.previous_state is State.EMPTY
        if group.state is State.PREPARING_REBALANCE and is_initial:
            group.has_new_member = True
        group.add(member, request.protocol_type)
        timeout_ms = self._config.new_member_join_timeout_ms
        outcome.timers.append(group.session_timer(member, call.now_ms, timeout_ms))
        reason = f"{member_id} joins: {request.reason or 'no reason given'}"
        self._rebalance.prepare_or_complete(group, reason, call.now_ms, outcome)
        return outcome
