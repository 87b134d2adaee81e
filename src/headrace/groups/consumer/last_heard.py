"""Which member of a group has been silent for the longest time."""

from __future__ import annotations

from collections import OrderedDict

from headrace.groups.consumer.members import Members


class LastHeard:
    """When members were last heard from; soft state, lost with the coordinator."""

    def __init__(self) -> None:
        #: Whoever was silent for the longest time comes first.
        self._at_ms: OrderedDict[str, int] = OrderedDict()

    def note(self, member_id: str, now_ms: int) -> None:
        self._at_ms[member_id] = now_ms
        self._at_ms.move_to_end(member_id)

    def longest_ago_ms(self, members: Members) -> int | None:
        """Of those that still send such heartbeats; all others are forgotten."""
        while self._at_ms:
            member_id, at_ms = next(iter(self._at_ms.items()))
            member = members.get(member_id)
            if member is not None and not member.uses_classic_protocol:
                return at_ms
            del self._at_ms[member_id]
        return None
