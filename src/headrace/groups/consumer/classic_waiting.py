"""How long members of the classic protocol may take, while they are in a consumer group."""

from __future__ import annotations

from headrace.base.outcome import CancelTimer, SetTimer
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.consumer.member import Member
from headrace.groups.consumer.timers import (
    CLASSIC_JOIN_TIMER,
    CLASSIC_SYNC_TIMER,
    SESSION_TIMER,
    cancel_timer,
    set_timer,
)

Changes = list[SetTimer | CancelTimer]


class ClassicWaiting:
    """Knows who was asked to join again, so that asking twice buys no time."""

    def __init__(self) -> None:
        self._asked: set[tuple[str, str]] = set()

    def alive(self, group: ConsumerGroup, member: Member, now_ms: int) -> SetTimer:
        assert member.classic is not None  # noqa: S101
        at_ms = now_ms + member.classic.session_timeout_ms
        return set_timer(SESSION_TIMER, group.group_id, member.member_id, at_ms)

    def asked_to_join(self, group: ConsumerGroup, member: Member, now_ms: int) -> Changes:
        place = (group.group_id, member.member_id)
        if place in self._asked:
            return []
        self._asked.add(place)
        at_ms = now_ms + member.rebalance_timeout_ms
        return [set_timer(CLASSIC_JOIN_TIMER, *place, at_ms)]

    def joined(self, group: ConsumerGroup, member: Member, now_ms: int) -> Changes:
        """It must take its assignment now."""
        place = (group.group_id, member.member_id)
        self._asked.discard(place)
        return [
            cancel_timer(CLASSIC_JOIN_TIMER, *place),
            self.alive(group, member, now_ms),
            set_timer(CLASSIC_SYNC_TIMER, *place, now_ms + member.rebalance_timeout_ms),
        ]

    def synced(self, group: ConsumerGroup, member: Member, now_ms: int) -> Changes:
        return [
            cancel_timer(CLASSIC_SYNC_TIMER, group.group_id, member.member_id),
            self.alive(group, member, now_ms),
        ]

    def gone(self, group: ConsumerGroup, member: Member) -> None:
        self._asked.discard((group.group_id, member.member_id))
