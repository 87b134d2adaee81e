"""Wakes fetches that wait for data, once for all that one request brought.

Whoever appended on behalf of a request runs the wake-ups at its end, before the answer leaves:
sending costs more than reading, and a consumer that waits shall not wait for the producer's answer
too. Appends from elsewhere are seen to at the end of the work at hand.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from headrace.broker.parked import Scheduler

logger = logging.getLogger(__name__)


class Wakeups:
    """What has to be looked at again because there is new data."""

    __slots__ = ("_is_held", "_is_running", "_pending", "_scheduler")

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._pending: list[Callable[[], None]] = []
        self._is_held = False
        self._is_running = False

    def hold(self) -> None:
        """Whoever calls this appends now, and calls `run` when it is done."""
        self._is_held = True

    def add(self, look_again: Callable[[], None]) -> None:
        if not (self._pending or self._is_held):
            self._scheduler.call_soon(self.run)
        self._pending.append(look_again)

    def run(self) -> None:
        """Wake all that wait; nothing happens if somebody has done so already.

        An answered client may have sent ahead what wakes the next one, and so on: whoever runs
        already comes to those too, so that a chain of them does not go ever deeper.
        """
        self._is_held = False
        if self._is_running:
            return
        self._is_running = True
        while self._pending:
            pending, self._pending = self._pending, []
            for look_again in pending:
                try:
                    look_again()
                except Exception:  # the edge of another client's request: this one must not suffer
                    logger.exception("a waiting fetch failed")
        self._is_running = False
