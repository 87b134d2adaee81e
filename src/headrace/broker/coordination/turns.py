"""Takes the steps of several long jobs one at a time, so that all of them together are one guest.

A node may have to load fifty coordinators at once. If each took its step in every turn of the
loop, a client would wait for fifty steps; so one step is taken a turn, from each job in turn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

Step = Callable[[], None]


class Turns:
    """Runs one waiting step each time the loop comes by."""

    def __init__(self, call_soon: Callable[[Step], None]) -> None:
        self._call_soon = call_soon
        self._waiting: deque[Step] = deque()
        self._is_called = False

    @property
    def are_taken(self) -> bool:
        """Whether a step waits already."""
        return bool(self._waiting)

    def add(self, step: Step) -> None:
        """Run `step` after those that wait already; it adds the next one of its job itself."""
        self._waiting.append(step)
        self._call()

    def _call(self) -> None:
        if not self._is_called and self._waiting:
            self._is_called = True
            self._call_soon(self._run)

    def _run(self) -> None:
        self._is_called = False
        step = self._waiting.popleft()
        try:
            step()
        finally:
            self._call()
