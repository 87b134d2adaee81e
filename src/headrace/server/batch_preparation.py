"""Batches that are looked into, searched or recompressed, in processes beside the node.

Never in the node's own: what has killed a process there would kill the node here.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import TypeVar

from headrace.broker.preparation import UNEXAMINED, Preparation, Prepared
from headrace.log.time_lookup import Candidate, TimestampOffset, unopened
from headrace.server.helper_process import HelperProcess

logger = logging.getLogger(__name__)

J = TypeVar("J")
R = TypeVar("R")

#: A process may have been ended for no fault of the batch at hand.
_TRIES = 2


class BatchPreparation:
    """What handlers call `prepare_elsewhere` and `open_elsewhere`."""

    def __init__(self) -> None:
        self._preparing = HelperProcess("batch")
        # Producers do not wait for lookups, nor these for them.
        self._searching = HelperProcess("lookup")
        self._tasks: set[asyncio.Task[None]] = set()

    def prepare(self, job: Preparation, done: Callable[[Prepared], None]) -> None:
        """Have a batch prepared; `done` gets the outcome on the loop."""
        self._begin(self._preparing, "prepare", job, lambda _: UNEXAMINED, done)

    def open(self, batch: Candidate, done: Callable[[TimestampOffset | None], None]) -> None:
        """Have a batch searched for the first record that is new enough."""
        self._begin(self._searching, "open", batch, unopened, done)

    def _begin(
        self,
        helper: HelperProcess,
        name: str,
        job: J,
        give_up: Callable[[J], R],
        done: Callable[[R], None],
    ) -> None:
        async def run() -> None:
            for _ in range(_TRIES):
                try:
                    outcome: R = await helper.run(name, job)
                    break
                except Exception as error:  # noqa: BLE001 - whatever it is, somebody waits
                    reason = error
            else:
                logger.warning("A batch cannot be looked into (%s): %r", name, reason)
                outcome = give_up(job)
            done(outcome)

        task = asyncio.get_running_loop().create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Whoever waits is gone: end what is under way, and the processes."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)
        await self._preparing.close()
        await self._searching.close()
