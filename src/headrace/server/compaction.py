"""Compaction as a node runs it: one log after the other, each in the helper process."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from headrace.base.clock import Clock
from headrace.log.checkpoint_rounds import CheckpointRound
from headrace.log.checkpoints import TopicPartition
from headrace.log.cleaner.job import CleaningError, CleanJob
from headrace.log.errors import LogDirFailure
from headrace.log.log_maintenance import LogMaintenance
from headrace.log.partition_log import PartitionLog
from headrace.server.helper_process import HelperDiedError, HelperProcess
from headrace.server.repeated_failures import RepeatedFailures
from headrace.server.scheduler import LoopScheduler

logger = logging.getLogger(__name__)


class Compaction:
    """Asks the log layer what to compact, and has it done."""

    def __init__(
        self,
        rounds: LogMaintenance,
        cleaner: HelperProcess,
        scheduler: LoopScheduler,
        clock: Clock,
        failures: RepeatedFailures,
        write: Callable[[CheckpointRound], Awaitable[None]],
    ) -> None:
        self._rounds = rounds
        self._cleaner = cleaner
        self._scheduler = scheduler
        self._clock = clock
        self._failures = failures
        self._write = write

    async def run(self, high_watermark: Callable[[PartitionLog], int]) -> None:
        """One log after the other, dirtiest first, while any is worth the work."""
        # One that failed has its next turn after the others and a pause: a disk that is full now
        # will be full in a moment, too, and a log that kills the helper must not keep it from all
        # others.
        failed: set[TopicPartition] = set()
        while True:
            now_ms = self._clock.wall_ms()
            job = self._rounds.next_clean_job(now_ms, high_watermark, but_not=failed)
            if job is None:
                return
            if not await self._is_cleaned(job):
                failed.add((job.topic, job.partition))

    async def _is_cleaned(self, job: CleanJob) -> bool:
        """Compact one log; whatever goes wrong with it is told here and costs no other log."""
        what = f"compaction of {job.topic}-{job.partition}"
        try:
            await self._clean(job)
        except CleaningError as error:
            logger.error("%s: %s", what, error)
            self._rounds.clean_job_failed(job, error)
        except (HelperDiedError, LogDirFailure) as error:  # killed, or no room for the result
            logger.error("%s: %s", what, error)
            self._rounds.clean_job_lost(job)
        except Exception as error:  # noqa: BLE001 - the edge: other logs go on
            self._failures.tell(what, error)
            self._rounds.clean_job_lost(job)
        else:
            self._failures.succeeded(what)
            return True
        return False

    async def _clean(self, job: CleanJob) -> None:
        result = await self._cleaner.run("clean", job)
        for sync in self._rounds.swap_in(job, result, self._clock.wall_ms()):
            await self._scheduler.in_thread(sync.run)
        await self._write(self._rounds.cleaner_offsets(job))
