"""When events that may share a batch go to the coordinator: at once, or with those that come next.

An event that is alone goes at once. Where several came at a time, the next ones wait as long as
each turn of the loop brings more of them, for a few turns at most: twenty consumers that commit
at once then cost one write for many of them instead of one for two or three.
"""

from __future__ import annotations

from collections.abc import Callable

#: Turns of the loop that an event waits for others, at most. One takes some 50 microseconds while
#: little else is going on; more turns than this bring no more events.
_TURNS_MAX = 4


class Sharing:
    """Counts the events of each turn and says when it is time to run them."""

    __slots__ = ("_call_soon", "_came", "_is_crowded", "_is_waiting", "_run", "_seen", "_turns")

    def __init__(
        self, call_soon: Callable[[Callable[[], None]], None], run: Callable[[], None]
    ) -> None:
        self._call_soon = call_soon
        self._run = run
        self._is_waiting = False
        #: Whether several events came together the last time.
        self._is_crowded = False
        self._came = 0
        #: How many had come by the last turn.
        self._seen = 0
        self._turns = 0

    def add(self) -> None:
        """One more event is in the queue."""
        self._came += 1
        if not self._is_waiting:
            self._is_waiting = True
            self._call_soon(self._turn_ended)
            if not self._is_crowded:
                self._run()

    def _turn_ended(self) -> None:
        self._turns += 1
        if self._is_crowded and self._came > self._seen and self._turns < _TURNS_MAX:
            self._seen = self._came
            self._call_soon(self._turn_ended)
            return
        self._is_waiting = False
        self._is_crowded = self._came > 1
        self._came = self._seen = self._turns = 0
        self._run()
