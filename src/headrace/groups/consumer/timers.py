"""The timers of the members of consumer groups: how long each may take for what."""

from __future__ import annotations

from headrace.base.outcome import CancelTimer, SetTimer
from headrace.groups.consumer.member import Member
from headrace.groups.timer_names import TimerName

#: A member must send heartbeats.
SESSION_TIMER = "consumer-session"
#: A member must give up the partitions that it was asked for.
REVOCATION_TIMER = "consumer-revocation"
#: A member of the classic protocol must join again when there is a rebalance.
CLASSIC_JOIN_TIMER = "consumer-classic-join"
#: A member of the classic protocol must take its assignment after it has joined.
CLASSIC_SYNC_TIMER = "consumer-classic-sync"

_ALL = (SESSION_TIMER, REVOCATION_TIMER, CLASSIC_JOIN_TIMER, CLASSIC_SYNC_TIMER)


def set_timer(kind: str, group_id: str, member_id: str, at_ms: int) -> SetTimer:
    return SetTimer(str(TimerName(kind, group_id, member_id)), at_ms)


def cancel_timer(kind: str, group_id: str, member_id: str) -> CancelTimer:
    return CancelTimer(str(TimerName(kind, group_id, member_id)))


def cancel_all(group_id: str, member: Member) -> list[SetTimer | CancelTimer]:
    return [cancel_timer(kind, group_id, member.member_id) for kind in _ALL]
