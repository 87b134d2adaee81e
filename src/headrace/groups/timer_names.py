"""Names of a coordinator's timers: a kind, a group, and perhaps a member, told apart for sure."""

from __future__ import annotations

from typing import NamedTuple


class TimerName(NamedTuple):
    """What a timer is about."""

    kind: str
    group_id: str = ""
    detail: str = ""

    def __str__(self) -> str:
        # The length keeps groups apart whatever characters their ids have.
        return f"{self.kind}/{len(self.group_id)}/{self.group_id}/{self.detail}"

    @classmethod
    def parse(cls, name: str) -> TimerName:
        kind, length, rest = name.split("/", 2)
        end = int(length)
        return cls(kind, rest[:end], rest[end + 1 :])
