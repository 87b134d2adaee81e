"""Group commit of the metadata log: one fsync for all that was written while the last one ran."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from headrace.base.clock import Clock
from headrace.log.errors import PASSING, LogDirFailure
from headrace.server.metadata_store import Flushing, MetadataStore

logger = logging.getLogger(__name__)

#: After a full disk refused a flush, before the next try.
_RETRY_S = 0.5


class Flusher:
    """Keeps at most one fsync under way, in a thread."""

    def __init__(
        self,
        store: MetadataStore,
        clock: Clock,
        *,
        flushed: Callable[[int], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._flushed = flushed
        self._failed = failed
        self._running: asyncio.Future[None] | None = None
        self._scheduled = False
        self._retry: asyncio.TimerHandle | None = None
        #: Why nothing can be synced just now, though nothing is lost: no room, no descriptors.
        self.refusal: LogDirFailure | None = None

    def schedule(self) -> None:
        """Have all that is written so far synced soon; `flushed` then gets its end offset."""
        if self._running is None and not self._scheduled:
            # Not at once: what else this turn of the loop submits shall share the fsync.
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._start)

    def _start(self) -> None:
        self._scheduled = False
        if self._running is not None:
            return
        try:
            flush = self._store.begin_flush(self._clock.wall_ms())
        except LogDirFailure as error:
            if error.errno in PASSING and self._store.log.failure is None:
                self._wait(error)
            else:
                self._failed(error)
            return
        if self.refusal is not None:
            logger.info("the metadata log takes writes again")
            self.refusal = None
        end_offset = self._store.log.log_end_offset
        self._running = asyncio.get_running_loop().run_in_executor(None, flush.run)
        self._running.add_done_callback(lambda _: self._finish(flush, end_offset))

    def _wait(self, error: LogDirFailure) -> None:
        """Whoever waits for the disk goes on waiting; the plane takes nothing new meanwhile."""
        if self.refusal is None:
            logger.error("the metadata log waits for its disk: %s", error)
        self.refusal = error
        if self._retry is not None:
            self._retry.cancel()
        self._retry = asyncio.get_running_loop().call_later(_RETRY_S, self._start)

    def stop_waiting(self) -> None:
        """The node stops: nobody comes back to a disk that has no room."""
        if self._retry is not None:
            self._retry.cancel()

    def _finish(self, flush: Flushing, end_offset: int) -> None:
        self._running = None
        try:
            flush.finish()
            self._flushed(end_offset)
        except Exception as error:  # noqa: BLE001 - a disk or a listener that fails: stop
            self._failed(error)

    async def idle(self) -> None:
        """Wait until no fsync is under way."""
        while self._running is not None or self._scheduled:
            await (self._running or asyncio.sleep(0))
            await asyncio.sleep(0)
