"""How long a member may wait until its next heartbeat.

A member hears of changes only in the answers to its heartbeats. When something is on its way to it
already, it would spend most of the interval of the settings waiting for nothing but its own next
heartbeat; so it is asked to come sooner: when the next target is due, when the session of a silent
member ends, whose partitions the others then get, and, while others have yet to give up its
partitions, the less often the longer that takes. Members take turns, so that a group sends a
thousand heartbeats a second at most for a target, once, and 250 while many wait for partitions:
the larger the crowd the later they come, until nothing is left but the interval.
"""

from __future__ import annotations

from typing import NamedTuple
from zlib import crc32

from headrace.groups.consumer.config import GroupTiming
from headrace.groups.consumer.member import Member, MemberState
from headrace.groups.consumer.progress import Progressed

_SOONEST_MS = 50
#: Where all members come, each of them once.
_BETWEEN_MEMBERS_MS = 1
#: Where they come again and again, and whoever they wait for has to get a word in.
_BETWEEN_WAITING_MS = 4
#: Who waits for partitions asks again after this part of the time that it has waited already.
_PART_OF_WAIT = 4


class Crowd(NamedTuple):
    """The members that share a coordinator's time."""

    member_count: int
    #: How many wait for partitions that others still have.
    waiting_count: int
    #: When the member that was silent for the longest time was last heard from.
    silent_since_ms: int | None


def next_heartbeat_ms(
    progressed: Progressed, timing: GroupTiming, crowd: Crowd, now_ms: int
) -> int:
    """From now on; never longer than the interval of the settings."""
    member, target = progressed.member, progressed.target
    # With partitions to give up a member comes by itself as soon as it has.
    waits_ms = [timing.heartbeat_interval_ms]
    if member.state is MemberState.UNRELEASED_PARTITIONS:
        again_ms = (now_ms - target.made_ms) // _PART_OF_WAIT
        waits_ms.append(_in_turn(member, again_ms, crowd.waiting_count * _BETWEEN_WAITING_MS))
    everybody_ms = crowd.member_count * _BETWEEN_MEMBERS_MS
    if progressed.awaits_target:
        due_in_ms = target.made_ms + timing.assignment_interval_ms - now_ms
        waits_ms.append(_in_turn(member, due_in_ms, everybody_ms))
    if crowd.silent_since_ms is not None:
        # Far off as long as everybody comes once in an interval.
        ends_in_ms = crowd.silent_since_ms + timing.session_timeout_ms - now_ms
        waits_ms.append(_in_turn(member, ends_in_ms, everybody_ms))
    return min(waits_ms)


def _in_turn(member: Member, wait_ms: int, crowd_ms: int) -> int:
    """Soon, but not all at the same time: the crowd has so long for it."""
    return max(wait_ms, _SOONEST_MS) + crc32(member.member_id.encode()) % (crowd_ms + 1)
