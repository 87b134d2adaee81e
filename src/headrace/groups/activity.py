"""What a group coordinator has done since it took over; the metrics page reads it."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(slots=True)
class Activity:
    """Plain counts; rates are the reader's business."""

    #: Offsets that requests committed, outside of transactions and inside.
    offset_commits: int = 0
    #: Offsets that requests deleted, and those that grew too old.
    offset_deletions: int = 0
    offset_expirations: int = 0
    #: Classic groups that got a new assignment; consumer groups that went to a new epoch.
    completed_rebalances: int = 0
    consumer_rebalances: int = 0

    def add(self, other: Activity) -> None:
        for field in fields(self):
            name = field.name
            setattr(self, name, getattr(self, name) + getattr(other, name))
