"""Members that go: those that say so, and those that are silent or too slow."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from headrace.base.outcome import Outcome, SetTimer
from headrace.groups.call import Call, GroupOutcome
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.consumer.group_epochs import GroupEpochs
from headrace.groups.consumer.lookup import require_consumer_group, require_static_member
from headrace.groups.consumer.member import STATIC_LEFT_EPOCH, Member, MemberState
from headrace.groups.consumer.member_records import current_assignment_record, member_tombstones
from headrace.groups.consumer.timers import cancel_all
from headrace.groups.group_store import GroupStore
from headrace.groups.timer_names import TimerName
from headrace.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

logger = logging.getLogger(__name__)

#: How soon a member is put out again when the log could not take it.
_RETRY_MS = 500

#: Turns the group into a classic one if none but classic members stay; False if it does not.
Downgrade = Callable[[ConsumerGroup, Sequence[Member], int, GroupOutcome], bool]


class Leaving:
    """Takes members out of their groups."""

    def __init__(self, groups: GroupStore, epochs: GroupEpochs, downgrade: Downgrade) -> None:
        self._groups = groups
        self._epochs = epochs
        self._downgrade = downgrade

    def leave(self, call: Call[ConsumerGroupHeartbeatRequest]) -> GroupOutcome:
        """A heartbeat with an epoch that means good-bye."""
        request = call.request
        group = require_consumer_group(self._groups, request.group_id)
        if request.instance_id is None:
            member = group.members.require(request.member_id)
        else:
            member = require_static_member(group, request.instance_id, request.member_id)
        outcome = call.answer(
            ConsumerGroupHeartbeatResponse(
                member_id=request.member_id, member_epoch=request.member_epoch
            )
        )
        logger.info("Member %s leaves group %s", member.member_id, group.group_id)
        if member.instance_id is not None and request.member_epoch == STATIC_LEFT_EPOCH:
            self._leave_for_a_while(group, member, outcome)
        else:
            self.remove(group, [member], call.now_ms, outcome)
        return outcome

    def session_expired(self, name: TimerName, now_ms: int) -> GroupOutcome:
        return self._fence(name, now_ms, "was silent for too long")

    def revocation_expired(self, name: TimerName, now_ms: int) -> GroupOutcome:
        group = self._groups.get(name.group_id)
        member = group.members.get(name.detail) if isinstance(group, ConsumerGroup) else None
        if member is None or member.state is not MemberState.UNREVOKED_PARTITIONS:
            return Outcome()
        return self._fence(name, now_ms, "did not give up its partitions in time")

    def classic_join_expired(self, name: TimerName, now_ms: int) -> GroupOutcome:
        return self._fence(name, now_ms, "did not join the rebalance in time")

    def classic_sync_expired(self, name: TimerName, now_ms: int) -> GroupOutcome:
        return self._fence(name, now_ms, "did not take its assignment in time")

    def remove(
        self, group: ConsumerGroup, gone: Sequence[Member], now_ms: int, outcome: GroupOutcome
    ) -> None:
        """Delete members; the others get their partitions with the next target."""
        if not gone:
            return
        for member in gone:
            outcome.timers += cancel_all(group.group_id, member)
        if self._downgrade(group, gone, now_ms, outcome):
            return
        for member in gone:
            outcome.records += member_tombstones(group.group_id, member.member_id)
        self._epochs.members_gone(group, gone, outcome)

    def _leave_for_a_while(
        self, group: ConsumerGroup, member: Member, outcome: GroupOutcome
    ) -> None:
        """A static member keeps its partitions; its session runs on until it comes back."""
        away = member.but(
            member_epoch=STATIC_LEFT_EPOCH,
            pending_revocation={},
            assigned={
                topic_id: dict.fromkeys(partitions, 0)
                for topic_id, partitions in member.assigned.items()
            },
        )
        outcome.records.append(current_assignment_record(group.group_id, away))

    def _fence(self, name: TimerName, now_ms: int, reason: str) -> GroupOutcome:
        outcome: GroupOutcome = Outcome()
        group = self._groups.get(name.group_id)
        member = group.members.get(name.detail) if isinstance(group, ConsumerGroup) else None
        if isinstance(group, ConsumerGroup) and member is not None:
            logger.info("Member %s of group %s %s", member.member_id, group.group_id, reason)
            self.remove(group, [member], now_ms, outcome)
            outcome.if_failed = lambda _, later_ms: Outcome(
                timers=[SetTimer(str(name), later_ms + _RETRY_MS)]
            )
        return outcome
