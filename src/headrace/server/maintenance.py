"""The node's periodic work: retention, compaction, flushes, checkpoints, deletions.

Decisions and bounded steps are the log layer's (`log.log_maintenance`); this says when, and takes
whatever waits for a disk or needs a processor off the loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from headrace.base.clock import Clock
from headrace.base.errors import KafkaError
from headrace.broker.partitions import Partitions
from headrace.broker.replica_logs import ReplicaLogs
from headrace.log.checkpoint_rounds import CheckpointRound
from headrace.log.log_maintenance import LogMaintenance, remove_directory
from headrace.log.log_manager import LogManager
from headrace.log.partition_log import PartitionLog
from headrace.server.compaction import Compaction
from headrace.server.helper_process import HelperProcess
from headrace.server.repeated_failures import RepeatedFailures
from headrace.server.scheduler import LoopScheduler

logger = logging.getLogger(__name__)

#: How often to look for work that comes up at any time.
_LOOK_MS = 1_000
#: Some intervals may be 0 in Kafka, whose threads then do nothing else. Here the loop serves
#: clients as well, and ten times a second is as often as any of this work is worth its while.
_INTERVAL_MS_MIN = 100


@dataclass(frozen=True, slots=True)
class MaintenanceConfig:
    """How often the node looks after its logs."""

    retention_check_interval_ms: int
    flush_check_interval_ms: int
    recovery_point_checkpoint_interval_ms: int
    log_start_offset_checkpoint_interval_ms: int
    high_watermark_checkpoint_interval_ms: int
    producer_expiration_check_interval_ms: int
    cleaner_enable: bool
    cleaner_backoff_ms: int


class Maintenance:
    """Runs one task for each kind of work."""

    def __init__(
        self,
        logs: LogManager,
        partitions: Partitions,
        scheduler: LoopScheduler,
        clock: Clock,
        config: MaintenanceConfig,
        cleaner: HelperProcess,
    ) -> None:
        self._logs = logs
        self._rounds = LogMaintenance(logs)
        self._partitions = partitions
        self._scheduler = scheduler
        self._clock = clock
        self._config = config
        self._cleaner = cleaner
        self._failures = RepeatedFailures()
        self._compaction = Compaction(
            self._rounds, cleaner, scheduler, clock, self._failures, self._write
        )
        self._backoff_changed = asyncio.Event()
        #: Called with a sentence when the node has no disk left to work on.
        self.on_no_directory_left: Callable[[str], None] = logger.critical
        self._tasks: list[asyncio.Task[None]] = []
        self._written_high_watermarks: dict[tuple[str, int], int] = {}
        self._replica_logs: ReplicaLogs | None = None

    def look_after(self, replica_logs: ReplicaLogs) -> None:
        """Retry what the disk refused from now on."""
        self._replica_logs = replica_logs

    def reconfigure(self, config: MaintenanceConfig) -> None:
        """Somebody changed a setting; of these only the cleaner's pause may change while we run."""
        if config.cleaner_backoff_ms != self._config.cleaner_backoff_ms:
            self._backoff_changed.set()
        self._config = config

    def high_watermark(self, log: PartitionLog) -> int:
        """What the log layer needs to know of replication."""
        partition = self._partitions.get(log.topic, log.partition)
        return log.log_start_offset if partition is None else partition.high_watermark

    def start(self) -> None:
        config = self._config
        self._every(config.retention_check_interval_ms, self.retain)
        # Kafka flushes a rolled segment at once; a look each second is near enough.
        self._every(min(config.flush_check_interval_ms, _LOOK_MS), self.flush)
        self._every(_LOOK_MS, self.delete)
        self._every(_LOOK_MS, self.take_failed_directories_offline)
        self._every(_LOOK_MS, self.try_refused_logs)
        self._logs.on_lost.append(self.lose)
        self._every(
            min(
                config.recovery_point_checkpoint_interval_ms,
                config.log_start_offset_checkpoint_interval_ms,
            ),
            self.write_checkpoints,
        )
        self._every(config.high_watermark_checkpoint_interval_ms, self.write_high_watermarks)
        self._every(config.producer_expiration_check_interval_ms, self.expire_producers)
        if config.cleaner_enable:
            self._repeat(self._pause_cleaner, self.compact)

    def _every(self, interval_ms: int, work: Callable[[], Awaitable[None]]) -> None:
        self._repeat(lambda: asyncio.sleep(_seconds(interval_ms)), work)

    def _repeat(
        self, pause: Callable[[], Awaitable[None]], work: Callable[[], Awaitable[None]]
    ) -> None:
        what = f"maintenance ({work.__name__})"

        async def repeat() -> None:
            while True:
                await pause()
                try:
                    await work()
                    self._failures.succeeded(what)
                except KafkaError as error:
                    logger.error("maintenance: %s", error)
                except Exception as error:  # noqa: BLE001 - the edge of a task: the work goes on
                    self._failures.tell(what, error)

        self._tasks.append(asyncio.get_running_loop().create_task(repeat()))

    async def _pause_cleaner(self) -> None:
        """`log.cleaner.backoff.ms`; a pause that is under way begins anew with a new value."""
        while True:
            self._backoff_changed.clear()
            pause = _seconds(self._config.cleaner_backoff_ms)
            try:
                await asyncio.wait_for(self._backoff_changed.wait(), pause)
            except TimeoutError:
                return

    # The kinds of work

    async def retain(self) -> None:
        """Delete what is past its time or size, some partitions at a time."""
        while self._rounds.retain(self._clock.wall_ms(), self.high_watermark):
            await _turn()

    async def expire_producers(self) -> None:
        while self._rounds.expire_producers(self._clock.wall_ms()):
            await _turn()

    async def take_failed_directories_offline(self) -> None:
        """A log met a bad disk: its clients had their error, its directory goes offline now."""
        failures = [log.failure for log in self._logs.logs.values() if log.failure is not None]
        for failure in failures:
            self._logs.handle_failure(failure)
        if not self._logs.online:  # whoever took the last one offline
            self.on_no_directory_left("None of the data directories can be used any more.")

    async def try_refused_logs(self) -> None:
        """Partitions that came, or went, while the disk was full: there may be room now."""
        replica_logs = self._replica_logs
        while replica_logs is not None and replica_logs.try_kept():
            await _turn()
        while replica_logs is not None and replica_logs.try_refused():
            await _turn()

    async def flush(self) -> None:
        """Make logs durable whose `flush.ms` is over or that rolled a segment."""
        now_ms = self._clock.wall_ms()
        flushes = []
        for log in self._rounds.logs_to_flush(now_ms):
            try:
                flushes.append(log.begin_flush(now_ms))
            except KafkaError as error:
                logger.error("%s", error)
        if not flushes:
            return

        def run() -> None:
            for flush in flushes:
                flush.run()

        await self._scheduler.in_thread(run)
        for flush in flushes:
            try:
                flush.finish()
            except KafkaError as error:
                logger.error("%s", error)

    async def write_checkpoints(self) -> None:
        await self._write(self._rounds.checkpoints())

    async def write_high_watermarks(self) -> None:
        """Only where one moved: an idle node leaves its disk alone."""
        current = {(p.topic, p.index): p.high_watermark for p in self._partitions}
        if current != self._written_high_watermarks:
            await self._write(self._rounds.high_watermarks(self.high_watermark))
            self._written_high_watermarks = current

    async def _write(self, written: CheckpointRound) -> None:
        # One round at a time, in the order in which they were made: all write the same files.
        await self._scheduler.in_turn(written.run)
        self.lose(self._logs.finish_checkpoints(written))

    def write_soon(self, written: CheckpointRound) -> None:
        """For those who cannot wait: write in a thread, then see what became of it."""
        self._scheduler.run_in_turn(
            written.run, lambda _: self.lose(self._logs.finish_checkpoints(written))
        )

    def lose(self, partitions: list[tuple[str, int]]) -> None:
        """A directory went offline and took these along."""
        for topic, index in partitions:
            self._partitions.mark_offline(topic, index)

    async def delete(self) -> None:
        """Remove files and directories whose delay is over."""
        now_ms = self._clock.wall_ms()
        while removals := self._rounds.take_due_files(now_ms):
            for removal in removals:
                await self._scheduler.in_thread(removal.run)
                self._rounds.finish_removal(removal)
        refused: dict[str, OSError] = {}
        for path in self._rounds.take_due_deletions(now_ms):
            try:
                await self._scheduler.in_thread(lambda path=path: remove_directory(path))  # type: ignore[misc]
            except OSError as error:
                refused[path] = error
        if refused:
            path, reason = next(iter(refused.items()))
            count = len(refused)
            logger.error("%d deleted partitions not removed, the first %s: %s", count, path, reason)
            self._rounds.put_off_deletions(refused, now_ms)

    async def compact(self) -> None:
        await self._compaction.run(self.high_watermark)

    async def stop(self, broker_epoch: int) -> None:
        """End the tasks, then flush, checkpoint and mark the clean stop."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._cleaner.close()
        await self._scheduler.in_turn(lambda: self._rounds.close(broker_epoch, self.high_watermark))


def _seconds(interval_ms: int) -> float:
    return max(interval_ms, _INTERVAL_MS_MIN) / 1000


async def _turn() -> None:
    """Let everybody else have a turn before the next piece."""
    await asyncio.sleep(0)
