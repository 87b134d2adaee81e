"""The periodic work on a node's logs, in pieces of bounded size, and the clean stop.

Whoever owns the event loop decides when, and gives the time. What waits for a disk comes as an
object or a path that any thread may work on. A disk that fails takes its directory offline; the
partitions that went with it are in `LogManager.unavailable` from then on.
"""

import os
from collections.abc import Container, Generator, Iterable, Iterator

from headrace.log.checkpoint_rounds import CheckpointRound
from headrace.log.checkpoints import HIGH_WATERMARK_CHECKPOINT, TopicPartition
from headrace.log.cleaner.candidates import GONE
from headrace.log.cleaner.job import CleaningError, CleanJob, CleanResult
from headrace.log.cleaner.schedule import HighWatermark
from headrace.log.directories import DataDirectory
from headrace.log.directories import remove_directory as remove_directory
from headrace.log.errors import PASSING, LogDirFailure
from headrace.log.log_registry import Deletions, LogRegistry
from headrace.log.partition_log import PartitionLog
from headrace.log.retention import remove_files
from headrace.log.swapping import DirectorySync

#: How long a directory that could not be removed waits for the next attempt.
_REMOVAL_AGAIN_MS = 60_000


class FileRemoval:
    """Files of one log that are to go; `run` may be called in another thread."""

    __slots__ = ("error", "log", "now_ms", "paths")

    def __init__(self, log: PartitionLog, paths: list[str], now_ms: int) -> None:
        self.log = log
        self.paths = paths
        self.now_ms = now_ms
        self.error: OSError | None = None

    def run(self) -> None:
        """Wait for the disk. Never raises: `finish_removal` looks at `error`."""
        try:
            remove_files(self.paths)
        except OSError as error:
            self.error = error


class LogMaintenance:
    """Housekeeping for all logs of a log manager."""

    __slots__ = ("_deleted", "_flush_from", "_manager", "_refused", "_waiting")

    def __init__(self, manager: LogRegistry) -> None:
        self._manager = manager
        #: Per kind of pass, the partitions it has still to visit.
        self._waiting: dict[str, list[TopicPartition]] = {}
        #: What retention deleted in the pass that is under way.
        self._deleted: Deletions = []
        #: Why it left something to the next one, of one log for all.
        self._refused: LogDirFailure | None = None
        #: Among all logs, where the next look for those to be flushed begins.
        self._flush_from = 0

    # Passes over all logs: each call visits some, and says whether there are more

    def retain(self, now_ms: int, high_watermark: HighWatermark, budget: int = 500) -> bool:
        """Delete old segments. Logs that a round of compaction is reading come next time.

        A full disk may refuse to some logs what has to go with it, such as a new segment. They
        come next time too, and the last call of the pass raises why.
        """
        for key, log in self._visit("retain", budget):
            if key not in self._manager.cleaning and log.failure is None:
                try:
                    deletions = log.retain(now_ms, high_watermark(log))
                except LogDirFailure as failure:
                    self._manager.handle_failure(failure)
                    if failure.passes:
                        self._refused = failure
                else:
                    self._deleted += [(log, deletion) for deletion in deletions]
        if self._waiting["retain"]:
            return True
        if self._deleted:
            deleted, self._deleted = self._deleted, []
            for tell in self._manager.on_deleted:
                tell(deleted)
        if self._refused is not None:
            refused, self._refused = self._refused, None
            raise refused.with_traceback(None)
        return False

    def expire_producers(self, now_ms: int, budget: int = 5000) -> bool:
        """Forget producers that have been idle for `producer.id.expiration.ms`."""
        for _, log in self._visit("expire_producers", budget):
            log.expire_producers(now_ms)
        return bool(self._waiting["expire_producers"])

    def _visit(self, kind: str, budget: int) -> Iterator[tuple[TopicPartition, PartitionLog]]:
        waiting = self._waiting.get(kind)
        if not waiting:
            waiting = self._waiting[kind] = list(self._manager.logs)
        for _ in range(min(budget, len(waiting))):
            key = waiting.pop()
            log = self._manager.logs.get(key)
            if log is not None:
                yield key, log

    # Work that waits for a disk

    def logs_to_flush(self, now_ms: int, limit: int = 100) -> list[PartitionLog]:
        """Logs whose flush is due (`flush.ms`, or a segment was rolled); see `begin_flush`.

        They take turns if there are too many: the same ones may be due again a moment later.
        """
        logs = list(self._manager.logs.values())
        logs = logs[self._flush_from :] + logs[: self._flush_from]
        due: list[PartitionLog] = []
        for count, log in enumerate(logs, 1):
            if log.failure is None and log.needs_flush(now_ms):
                due.append(log)
                if len(due) == limit:
                    self._flush_from = (self._flush_from + count) % len(logs)
                    break
        return due

    def checkpoints(self) -> CheckpointRound:
        """Recovery points, log starts and cleaner offsets of all directories."""
        return self._manager.checkpoint_round(self._manager.online)

    def high_watermarks(self, high_watermark: HighWatermark) -> CheckpointRound:
        """High watermarks of all directories (`replica.high.watermark.checkpoint.interval.ms`)."""
        written = CheckpointRound()
        for directory in self._manager.online:
            self._add_high_watermarks(written, directory, high_watermark)
        return written

    def take_due_files(self, now_ms: int, budget: int = 5000) -> "list[FileRemoval]":
        """Files of deleted segments whose delay is over, of some logs; empty when all had a look.

        Run each in any thread, then give it to `finish_removal`.
        """
        while True:
            due = [
                FileRemoval(log, paths, now_ms)
                for _, log in self._visit("take_due_files", budget)
                if log.pending_deletes and (paths := log.take_due_files(now_ms))
            ]
            if due or not self._waiting["take_due_files"]:
                return due

    def finish_removal(self, removal: "FileRemoval") -> None:
        """A disk that cannot remove files takes its directory offline, unless it is only full."""
        if removal.error is not None:
            log = removal.log
            self._manager.handle_failure(
                log.not_deleted(removal.paths, removal.now_ms, removal.error)
            )

    def take_due_deletions(self, now_ms: int) -> list[str]:
        """Directories of deleted partitions whose delay is over, for `remove_directory`."""
        due = [path for due_ms, path in self._manager.deleting if due_ms <= now_ms]
        self._manager.deleting = [
            (due_ms, path) for due_ms, path in self._manager.deleting if due_ms > now_ms
        ]
        return due

    def put_off_deletions(self, paths: Iterable[str], now_ms: int) -> None:
        """The disk did not remove these: it may in a while, unless it is out of use by then."""
        online = {directory.path for directory in self._manager.online}
        due_ms = now_ms + _REMOVAL_AGAIN_MS
        self._manager.deleting += [
            (due_ms, path) for path in paths if os.path.dirname(path) in online
        ]

    # Compaction

    def next_clean_job(
        self,
        now_ms: int,
        high_watermark: HighWatermark,
        *,
        but_not: Container[TopicPartition] = (),
    ) -> CleanJob | None:
        """The dirtiest log (`but_not` these) as a job for `cleaner.run`, if one is worth it.

        As in `retain`, what is refused to some logs comes next time, and raises in the end.
        """
        config, cleaning = self._manager.config, self._manager.cleaning
        while True:
            try:
                job = cleaning.next_job(
                    self._manager.logs.values(),
                    now_ms,
                    high_watermark,
                    map_bytes=config.cleaner_map_bytes,
                    bytes_per_second_max=config.cleaner_io_max_bytes_per_second,
                    but_not=but_not,
                )
            except LogDirFailure as failure:
                self._manager.handle_failure(failure)  # and look at those on other disks
                continue
            if job is None and cleaning.refused is not None:
                raise cleaning.refused.with_traceback(None)
            return job

    def swap_in(
        self, job: CleanJob, result: CleanResult, now_ms: int
    ) -> Generator[DirectorySync, None, bool]:
        """Swap in what a job made; what it yields waits for the disk, in any thread.

        Returns False if the result came too late. A full disk raises `LogDirFailure`: there will
        be another round.
        """
        log = self._manager.logs.get((job.topic, job.partition))
        if log is not None and log.directory != job.directory:
            log = None
        try:
            is_in = yield from self._manager.cleaning.swap_in(job, result, log, now_ms)
        except LogDirFailure as failure:
            self._manager.handle_failure(failure)
            if failure.passes:
                raise
            return False
        if is_in:
            for tell in self._manager.on_compacted:
                tell(job, result, now_ms - job.now_ms)
        return is_in

    def cleaner_offsets(self, job: CleanJob) -> CheckpointRound:
        """How far the logs of a job's directory are clean; like Kafka, noted after each job."""
        written = CheckpointRound()
        log = self._manager.logs.get((job.topic, job.partition))
        if log is not None:
            self._manager.add_cleaner_offsets(written, self._manager.directory_of(log))
        return written

    def clean_job_failed(self, job: CleanJob, error: CleaningError) -> None:
        """Data that cannot be read is left alone from now on; a bad disk takes its directory."""
        code = error.errno
        self._manager.cleaning.give_up(job, error.reason, for_good=code is None)
        if code is not None and code not in PASSING and code not in GONE:
            cause = OSError(code, error.reason)
            self._manager.handle_failure(LogDirFailure(job.directory, "compacting", cause))

    def clean_job_lost(self, job: CleanJob) -> None:
        """A job failed in a way that says nothing of the data, so the log gets another."""
        self._manager.cleaning.give_up(job, "the cleaner failed unexpectedly", for_good=False)

    # The end

    def close(self, broker_epoch: int, high_watermark: HighWatermark) -> None:
        """Flush and close everything, and mark each directory in which that succeeded."""
        manager = self._manager
        for directory in manager.online:
            clean = self._close_logs(directory)
            written = manager.checkpoint_round([directory])
            self._add_high_watermarks(written, directory, high_watermark)
            written.run()
            if clean and not written.failures and directory.path in manager.complete:
                try:
                    directory.mark_clean_shutdown(broker_epoch)
                except OSError as error:
                    directory.fail(f"{error.strerror or error}: {directory.path}")
        for directory in manager.directories:
            directory.close()

    def _close_logs(self, directory: DataDirectory) -> bool:
        clean = True
        for log in self._manager.logs_in(directory).values():
            try:
                log.close(clean=True)
            except LogDirFailure:
                clean = False
            clean = clean and log.failure is None
        return clean

    def _add_high_watermarks(
        self, written: CheckpointRound, directory: DataDirectory, high_watermark: HighWatermark
    ) -> None:
        logs = self._manager.logs_in(directory)
        offsets = {key: high_watermark(log) for key, log in logs.items()}
        written.add(directory, HIGH_WATERMARK_CHECKPOINT, offsets)
