"""Batches that have to be looked into or recompressed, prepared in a process beside the node."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from headrace.broker.preparation import Preparation, Prepared, prepare
from headrace.server.helper_process import HelperDiedError, HelperProcess
from headrace.server.scheduler import LoopScheduler


class BatchPreparation:
    """What the Produce handler calls `prepare_elsewhere`."""

    def __init__(self, scheduler: LoopScheduler) -> None:
        self._scheduler = scheduler
        self._helper = HelperProcess("batch")
        self._tasks: set[asyncio.Task[None]] = set()

    def prepare(self, job: Preparation, done: Callable[[Prepared], None]) -> None:
        """Have a batch prepared; `done` gets the outcome on the loop."""
        task = asyncio.get_running_loop().create_task(self._run(job, done))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, job: Preparation, done: Callable[[Prepared], None]) -> None:
        try:
            outcome = await self._helper.run("prepare", job)
        except HelperDiedError:
            # Better here than not at all; the next batch gets a new process.
            outcome = await self._scheduler.in_thread(lambda: prepare(job))
        done(outcome)

    async def close(self) -> None:
        """Whoever waits is gone: end what is under way, and the process."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)
        await self._helper.close()
