"""How long a member may wait until its next heartbeat.

A member hears of changes only in the answers to its heartbeats. When something is on its way to it
already, it would spend most of the interval of the settings waiting for nothing but its own next
heartbeat; so it is asked to come sooner: when the next target is due, when the session of a silent
member ends, whose partitions the others then get, and, while others have yet to give up its
partitions, the less often the longer that takes. Members take turns, so that a group sends a
thousand such heartbeats a second at most: the larger it is the later they come, until nothing is
left but the interval.
"""

from __future__ import annotations

from zlib import crc32

from headrace.groups.consumer.config import GroupTiming
from headrace.groups.consumer.member import MemberState
from headrace.groups.consumer.progress import Progressed

_SOONEST_MS = 50
_BETWEEN_MEMBERS_MS = 1
#: Who waits for partitions asks again after this part of the time that it has waited already.
_PART_OF_WAIT = 4


def next_heartbeat_ms(
    progressed: Progressed,
    timing: GroupTiming,
    member_count: int,
    silent_since_ms: int | None,
    now_ms: int,
) -> int:
    """From now on; never longer than the interval of the settings.

    `silent_since_ms` is when the member that was silent for the longest time was last heard from.
    """
    member, target = progressed.member, progressed.target
    # With partitions to give up a member comes by itself as soon as it has.
    wait_ms = timing.heartbeat_interval_ms
    if member.state is MemberState.UNRELEASED_PARTITIONS:
        wait_ms = (now_ms - target.made_ms) // _PART_OF_WAIT
    if progressed.awaits_target:
        wait_ms = min(wait_ms, target.made_ms + timing.assignment_interval_ms - now_ms)
    if silent_since_ms is not None:
        # Far off as long as everybody comes once in an interval.
        wait_ms = min(wait_ms, silent_since_ms + timing.session_timeout_ms - now_ms)
    turn_ms = crc32(member.member_id.encode()) % (member_count * _BETWEEN_MEMBERS_MS + 1)
    return min(max(wait_ms, _SOONEST_MS) + turn_ms, timing.heartbeat_interval_ms)
