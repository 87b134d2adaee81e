"""A uvloop whose timers follow a clock that a test can move."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from contextvars import Context
from itertools import count
from typing import Protocol, TypeVarTuple

import uvloop

Ts = TypeVarTuple("Ts")


class Clock(Protocol):
    """How far the node's time is ahead of the machine's."""

    ahead_ms: int


class MovableUvloop(uvloop.Loop):
    """uvloop keeps its timers in C, out of reach: here they are in a heap, before one timer."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._due: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._numbers = count()
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = 0.0

    def time(self) -> float:
        return super().time() + self._clock.ahead_ms / 1000

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._due, (when, next(self._numbers), handle))
        self._arm()
        return handle

    def time_moved(self) -> None:
        self._ring()

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It stays in the heap until its time, unless it is in front."""
        self._drop_cancelled()

    def _drop_cancelled(self) -> None:
        while self._due and self._due[0][2].cancelled():
            heapq.heappop(self._due)

    def _arm(self) -> None:
        if not self._due or (self._alarm is not None and self._alarm_at <= self._due[0][0]):
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = self._due[0][0]
        delay = max(self._alarm_at - self.time(), 0.0)
        self._alarm = super().call_later(delay, self._ring)

    def _ring(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        now = self.time()
        while self._due and self._due[0][0] <= now:
            _, _, handle = heapq.heappop(self._due)
            if not handle.cancelled():
                handle._run()
        self._drop_cancelled()
        self._arm()
