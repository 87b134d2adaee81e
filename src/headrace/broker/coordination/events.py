"""What waits to happen to one coordinator, in order.

Most events must see what the events before them wrote. Some need not: whether an offset may be
committed does not depend on offsets committed before. Such events may share a batch, so that the
members of a group that commit at the same time cost one write.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from headrace.base.errors import KafkaError
from headrace.base.outcome import Outcome

#: Something that happens to a coordinator; gets the token of whoever waits, and the wall clock.
Event = Callable[[int, int], Outcome[Any, Any]]
#: An event, the token of whoever waits for it, and whether it may share a batch.
Queued = tuple[Event, int, bool]

#: Events in one batch; a commit may be large by itself, so not many.
_TOGETHER_MAX = 100


class Events:
    """A queue that hands out one event, or several that may share a batch."""

    __slots__ = ("_queue",)

    def __init__(self) -> None:
        self._queue: deque[Queued] = deque()

    def __bool__(self) -> bool:
        return bool(self._queue)

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, event: Event, token: int, may_share: bool) -> None:
        self._queue.append((event, token, may_share))

    def add_first(self, event: Event, token: int) -> None:
        self._queue.appendleft((event, token, False))

    def clear(self) -> None:
        self._queue.clear()

    def take(self) -> list[Queued]:
        """The next event, with those behind it that may share its batch."""
        queue = self._queue
        taken = [queue.popleft()]
        if taken[0][2]:
            while queue and queue[0][2] and len(taken) < _TOGETHER_MAX:
                taken.append(queue.popleft())
        return taken


def merged(
    outcomes: list[Outcome[Any, Any]], if_failed: Callable[[KafkaError, int], Outcome[Any, Any]]
) -> Outcome[Any, Any]:
    """One outcome with everything that several want; for events that may share a batch."""
    return Outcome(
        records=[record for one in outcomes for record in one.records],
        replies=[reply for one in outcomes for reply in one.replies],
        timers=[timer for one in outcomes for timer in one.timers],
        if_failed=if_failed,
    )
