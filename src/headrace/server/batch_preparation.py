"""Batches that are looked into, searched or recompressed, in processes beside the node.

Never in the node's own: what has killed a process there would kill the node here.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.preparation import UNEXAMINED, UNSTARTED, Preparation, Prepared
from headrace.broker.time_lookups import Opened
from headrace.log.time_lookup import Candidate, unopened
from headrace.server.helper_process import HelperNotStartedError, HelperProcess

logger = logging.getLogger(__name__)

#: A process may have been ended for no fault of the batch at hand.
_TRIES = 2
#: Where no process can be started at all, how long to wait before each other try.
_PAUSES_S = (0.1, 0.4)


class BatchPreparation:
    """What handlers call `prepare_elsewhere` and `open_elsewhere`."""

    def __init__(self) -> None:
        self._preparing = HelperProcess("batch")
        # Producers do not wait for lookups, nor these for them.
        self._searching = HelperProcess("lookup")
        self._tasks: set[asyncio.Task[None]] = set()

    def prepare(self, job: Preparation, done: Callable[[Prepared], None]) -> None:
        """Have a batch prepared; `done` gets the outcome on the loop."""

        async def run() -> None:
            try:
                outcome: Prepared = await _tried(self._preparing, "prepare", job)
            except HelperNotStartedError:
                outcome = UNSTARTED
            except Exception:  # noqa: BLE001 - whatever it is, somebody waits
                outcome = UNEXAMINED
            done(outcome)

        self._begin(run())

    def open(self, batch: Candidate, done: Callable[[Opened], None]) -> None:
        """Have a batch searched for the first record that is new enough."""

        async def run() -> None:
            try:
                outcome: Opened = await _tried(self._searching, "open", batch)
            except HelperNotStartedError as error:
                # A wrong offset would be used; this error makes clients ask again.
                outcome = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error))
            except Exception:  # noqa: BLE001 - whatever it is, somebody waits
                outcome = unopened(batch)
            done(outcome)

        self._begin(run())

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
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


async def _tried(helper: HelperProcess, name: str, job: Preparation | Candidate) -> Any:
    """What comes of a job, in other processes if the first ones end; raises if nothing does."""
    pauses, deaths = iter(_PAUSES_S), 0
    while True:
        try:
            return await helper.run(name, job)
        except HelperNotStartedError as error:
            pause = next(pauses, None)
            if pause is None:
                logger.warning("No batch can be looked into: %s", error)
                raise
            await asyncio.sleep(pause)
        except Exception as error:
            deaths += 1
            if deaths == _TRIES:
                logger.warning("A batch cannot be looked into (%s): %r", name, error)
                raise
