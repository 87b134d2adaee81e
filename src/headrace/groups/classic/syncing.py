"""SyncGroup: the leader brings the assignment, everybody takes theirs."""

from __future__ import annotations

import logging

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import Outcome
from headrace.groups.call import Call, GroupOutcome
from headrace.groups.classic.group import ClassicGroup
from headrace.groups.classic.group_record import group_record
from headrace.groups.classic.rebalance import Rebalance
from headrace.groups.classic.replies import not_synced, synced, take_sync_token
from headrace.groups.classic.states import State
from headrace.groups.group_store import GroupStore
from headrace.protocol.messages.sync_group import SyncGroupRequest

logger = logging.getLogger(__name__)

SyncCall = Call[SyncGroupRequest]


class Syncing:
    """Serves SyncGroup to classic groups."""

    def __init__(self, groups: GroupStore, rebalance: Rebalance) -> None:
        self._groups = groups
        self._rebalance = rebalance

    def sync(self, call: SyncCall) -> GroupOutcome:
        request = call.request
        if not request.group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        group = self._groups.get(request.group_id)
        if not isinstance(group, ClassicGroup) or group.is_empty:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        _validate(group, request)
        if group.state is State.PREPARING_REBALANCE:
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
        outcome: GroupOutcome = Outcome()
        self._rebalance.received_sync(group, request.member_id, outcome)
        member = group.members[request.member_id]
        if group.state is State.STABLE:
            outcome.replies.append((call.token, synced(group, member.assignment)))
            return outcome
        before = take_sync_token(member)
        if before is not None:
            outcome.replies.append((before, not_synced(ErrorCode.REBALANCE_IN_PROGRESS)))
        member.sync_token = call.token
        if request.member_id == group.leader:
            self._assign(call, group, outcome)
        return outcome

    def _assign(self, call: SyncCall, group: ClassicGroup, outcome: GroupOutcome) -> None:
        """The assignment counts once its record is safe; then the group is stable."""
        given = {one.member_id: bytes(one.assignment) for one in call.request.assignments}
        logger.info(
            "Group %s has the assignment of its leader for generation %d",
            group.group_id,
            group.generation,
        )
        outcome.records.append(group_record(group, given))
        self._groups.activity.completed_rebalances += 1
        waiting: list[tuple[str, int]] = []
        for member in group.members:
            token = member.sync_token
            if token is None:
                continue
            waiting.append((member.member_id, token))
            member.sync_token = None
            answer = synced(group, given.get(member.member_id, b""))
            outcome.replies.append((token, answer))
            outcome.timers.append(group.session_timer(member, call.now_ms))

        def failed(error: KafkaError, now_ms: int) -> GroupOutcome:
            for member_id, token in waiting:
                group.members[member_id].sync_token = token
            undone: GroupOutcome = Outcome()
            self._rebalance.refuse_syncs(group, error.code, now_ms, undone)
            reason = f"the assignment could not be stored: {error.code.name}"
            self._rebalance.prepare_or_complete(group, reason, now_ms, undone)
            return undone

        outcome.if_failed = failed


def _validate(group: ClassicGroup, request: SyncGroupRequest) -> None:
    group.validate_member(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    if _differs(request.protocol_type, group.protocol_type) or _differs(
        request.protocol_name, group.protocol_name
    ):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def _differs(asked: str | None, actual: str | None) -> bool:
    return asked is not None and actual is not None and asked != actual
