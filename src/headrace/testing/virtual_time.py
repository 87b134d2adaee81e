"""Time that a test can move forward: a node's clock and its event loop's timers together.

Time runs on as usual in between, so clients notice nothing but that a node's time-outs are over.
A jump is one jump: what is due after it happens once, however often it would have come up.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import Protocol, cast

from headrace.base.clock import SystemClock


class MovableClock:
    """The machine's clocks, and how far this node is ahead of them."""

    def __init__(self, ahead_ms: int = 0) -> None:
        self._system = SystemClock()
        self.ahead_ms = ahead_ms

    def wall_ms(self) -> int:
        return self._system.wall_ms() + self.ahead_ms

    def mono_ms(self) -> float:
        return self._system.mono_ms() + self.ahead_ms


class MovableLoop(Protocol):
    """An event loop that keeps its timers by a `MovableClock`."""

    def time_moved(self) -> None:
        """The clock has been moved: run what is due now. To be called on the loop."""


async def move(clock: MovableClock, elapsed_ms: int) -> None:
    """Move the clock and the timers of the running loop, and give everybody woken a few turns."""
    clock.ahead_ms += elapsed_ms
    cast(MovableLoop, asyncio.get_running_loop()).time_moved()
    for _ in range(20):
        await asyncio.sleep(0)


def movable_runner(clock: MovableClock) -> asyncio.Runner:
    """Like any node's runner, but on a loop that follows the clock."""
    return asyncio.Runner(loop_factory=lambda: _new_loop(clock))


def _new_loop(clock: MovableClock) -> asyncio.AbstractEventLoop:
    if sys.platform != "win32":
        with contextlib.suppress(ImportError):
            from headrace.testing.movable_uvloop import MovableUvloop

            return MovableUvloop(clock)

    class Loop(asyncio.SelectorEventLoop):
        """asyncio's own loop asks `time` for everything."""

        def time(self) -> float:
            return super().time() + clock.ahead_ms / 1000

        def time_moved(self) -> None:
            pass

    return Loop()
