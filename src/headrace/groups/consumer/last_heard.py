"""Which member of a group has been silent for the longest time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Container


class LastHeard:
    """When members were last heard from; soft state, lost with the coordinator."""

    def __init__(self) -> None:
        #: Whoever was silent for the longest time comes first.
        self._at_ms: OrderedDict[str, int] = OrderedDict()

    def note(self, member_id: str, now_ms: int) -> None:
        self._at_ms[member_id] = now_ms
        self._at_ms.move_to_end(member_id)

    def longest_ago_ms(self, members: Container[str]) -> int | None:
        """Of these members; who is none of them any more, or never became one, is forgotten."""
        while self._at_ms:
            member_id = next(iter(self._at_ms))
            if member_id in members:
                return self._at_ms[member_id]
            del self._at_ms[member_id]
        return None
