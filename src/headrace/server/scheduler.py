"""The broker's `Scheduler` on an asyncio loop: timers, and work off the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

#: Fsyncs, checkpoints, removals: waits on disks, so few suffice. At a start, one loads all logs.
_THREADS = 4


class LoopScheduler:
    """Runs callbacks on the loop and blocking work in a small pool of threads."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="headrace")
        self._one_thread = ThreadPoolExecutor(1, thread_name_prefix="headrace-in-turn")

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        return self._loop.call_later(delay_ms / 1000.0, callback)

    def call_soon(self, callback: Callable[[], None]) -> None:
        self._loop.call_soon(callback)

    def run_in_thread(
        self, work: Callable[[], T], done: Callable[[T | BaseException], None]
    ) -> None:
        self._run_in(self._threads, work, done)

    def run_in_turn(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """Like `run_in_thread`, but after all that was to be run in turn before it."""
        self._run_in(self._one_thread, work, done)

    def _run_in(
        self,
        threads: ThreadPoolExecutor,
        work: Callable[[], T],
        done: Callable[[T | BaseException], None],
    ) -> None:
        future = self._loop.run_in_executor(threads, work)

        def finished(result: asyncio.Future[T]) -> None:
            if result.cancelled():
                done(asyncio.CancelledError())
            else:
                error = result.exception()
                done(error if error is not None else result.result())

        future.add_done_callback(finished)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """The same for code that can wait."""
        return await self._loop.run_in_executor(self._threads, work)

    async def in_turn(self, work: Callable[[], T]) -> T:
        return await self._loop.run_in_executor(self._one_thread, work)

    def close(self) -> None:
        self._threads.shutdown(wait=True)
        self._one_thread.shutdown(wait=True)
