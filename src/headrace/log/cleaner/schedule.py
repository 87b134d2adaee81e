"""What the cleaner does next: which log, which rounds are under way, where each log is clean up to.

A round runs elsewhere while its log goes on growing. Whatever else changes the segments it reads
(truncation, deletion, a lost directory) aborts it: its result is thrown away when it comes.
"""

import math
from collections.abc import Callable, Container, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress

from headrace.log.checkpoints import TopicPartition
from headrace.log.cleaner.candidates import Candidate, examine, make_job
from headrace.log.cleaner.cleaned_segment import discard_cleaned, is_complete
from headrace.log.cleaner.job import CleanJob, CleanResult, CleanStats
from headrace.log.errors import LogDirFailure
from headrace.log.file_names import CLEANED, SWAP
from headrace.log.partition_log import PartitionLog
from headrace.log.segment import Segment
from headrace.log.swapping import DirectorySync

HighWatermark = Callable[[PartitionLog], int]


class CleanerSchedule:
    """The state of compaction on one node."""

    __slots__ = (
        "_aborted",
        "_running",
        "_staged",
        "dirtiest_ratio",
        "last_look_ms",
        "last_round",
        "last_round_ms",
        "offsets",
        "refused",
        "uncleanable",
    )

    def __init__(self) -> None:
        #: Everything below is clean; what `cleaner-offset-checkpoint` holds.
        self.offsets: dict[TopicPartition, int] = {}
        #: Logs whose data a round could not read; left alone until the node starts again.
        self.uncleanable: dict[TopicPartition, str] = {}
        #: Of the last look at all logs, for `max-dirty-percent`.
        self.dirtiest_ratio = 0.0
        #: When that look was; None before the first one.
        self.last_look_ms: int | None = None
        #: Why it passed some log over, of one log for all.
        self.refused: LogDirFailure | None = None
        #: What the last round that succeeded did, and how long it took.
        self.last_round = CleanStats()
        self.last_round_ms = 0
        self._running: dict[TopicPartition, CleanJob] = {}
        self._aborted: set[TopicPartition] = set()
        #: Segments that are about to be swapped in.
        self._staged: dict[TopicPartition, Segment] = {}

    def __contains__(self, key: TopicPartition) -> bool:
        """True while a round is under way, during which no segment may be deleted."""
        return key in self._running

    @property
    def running(self) -> list[CleanJob]:
        return list(self._running.values())

    def next_job(
        self,
        logs: Iterable[PartitionLog],
        now_ms: int,
        high_watermark: HighWatermark,
        *,
        map_bytes: int,
        bytes_per_second_max: float = math.inf,
        but_not: Container[TopicPartition] = (),
    ) -> CleanJob | None:
        """The dirtiest log that is worth a round; it counts as under way from now on.

        One that cannot be looked at now is passed over (`refused`). Raises `LogDirFailure` for one
        on a bad disk.
        """
        self.last_look_ms = now_ms
        self.refused = None
        candidates = []
        for log in logs:
            if self._may(log):
                with self._passing_over():
                    candidates.append(self._examine(log, now_ms, high_watermark))
        self.dirtiest_ratio = max((c.dirty_ratio for c in candidates), default=0.0)
        others = (c for c in candidates if (c.log.topic, c.log.partition) not in but_not)
        worthy = [candidate for candidate in others if candidate.is_worth_it]
        for dirtiest in sorted(worthy, key=_dirty_ratio, reverse=True):
            with self._passing_over():
                job = make_job(dirtiest, now_ms, map_bytes, bytes_per_second_max)
                self.begin(job)
                return job
        return None

    @contextmanager
    def _passing_over(self) -> Iterator[None]:
        """What is refused to one log keeps the cleaner from no other, unless the disk is bad."""
        try:
            yield
        except LogDirFailure as failure:
            if not failure.passes:
                raise
            self.refused = failure

    def begin(self, job: CleanJob) -> None:
        """From now on the segments that a job reads must stay."""
        self._running[job.topic, job.partition] = job

    def swap_in(
        self, job: CleanJob, result: CleanResult, log: PartitionLog | None, now_ms: int
    ) -> Generator[DirectorySync, None, bool]:
        """Swap the result of a round in; what it yields waits for the disk, in any thread.

        Returns False if the result came too late and was thrown away. Raises `LogDirFailure` if
        the disk refuses: before anything has changed, or half way, so that the log refuses all
        work and loading completes the swap.
        """
        key = (job.topic, job.partition)
        try:
            if self._is_void(job) or log is None or not _still_fits(log, result):
                return False
            for cleaned in result.segments:
                new = Segment.open(
                    log.files, log.directory, cleaned.base_offset, now_ms, suffix=CLEANED
                )
                replaced = set(cleaned.replaced)
                old = [segment for segment in log.segments if segment.base_offset in replaced]
                self._staged[key] = new
                for sync in log.swap_segments([new], old, now_ms):
                    yield sync
                    if self._is_void(job):
                        return False
            self.offsets[key] = result.end_offset
            self.last_round, self.last_round_ms = result.stats, now_ms - job.now_ms
            return True
        finally:
            self._staged.pop(key, None)
            self._end(job)
            # What was swapped in is not called so any more.
            discard_cleaned(job.directory, (cleaned.base_offset for cleaned in result.segments))

    def give_up(self, job: CleanJob, reason: str, *, for_good: bool) -> None:
        """A round that failed; `for_good` if its data is at fault and trying again is no use."""
        if self._end(job) and for_good:
            self.uncleanable[job.topic, job.partition] = reason

    def abort(self, key: TopicPartition) -> None:
        """Make sure that no round that is under way changes this log."""
        if key in self._running:
            self._aborted.add(key)
            staged = self._staged.pop(key, None)
            if staged is not None and staged.suffix == SWAP:
                # Loading after a crash would take it for the truth.
                with suppress(OSError):
                    staged.delete_files()

    def forget(self, key: TopicPartition) -> None:
        """The log is gone from this node."""
        self.abort(key)
        self.offsets.pop(key, None)
        self.uncleanable.pop(key, None)

    def truncated(self, key: TopicPartition, offset: int) -> None:
        """The log was cut: what comes at or behind `offset` next is dirty."""
        self.abort(key)
        if self.offsets.get(key, 0) > offset:
            self.offsets[key] = offset

    def _may(self, log: PartitionLog) -> bool:
        key = (log.topic, log.partition)
        return (
            log.config.compact
            and log.failure is None
            and len(log.segments) > 1
            and key not in self._running
            and key not in self.uncleanable
        )

    def _examine(self, log: PartitionLog, now_ms: int, high_watermark: HighWatermark) -> Candidate:
        key = (log.topic, log.partition)
        candidate = examine(log, self.offsets.get(key), now_ms, high_watermark(log))
        if candidate.checkpoint_invalid:
            self.offsets[key] = candidate.first_dirty_offset
        return candidate

    def _is_void(self, job: CleanJob) -> bool:
        """True if the log has changed under a round."""
        key = (job.topic, job.partition)
        return self._running.get(key) is not job or key in self._aborted

    def _end(self, job: CleanJob) -> bool:
        """A round is over; True if its result may be used."""
        key = (job.topic, job.partition)
        if self._running.get(key) is not job:
            return False
        del self._running[key]
        if key in self._aborted:
            self._aborted.discard(key)
            return False
        return True


def _still_fits(log: PartitionLog, result: CleanResult) -> bool:
    """True if every segment that was read is still there, and every file that was written."""
    bases = set(log.segments.base_offsets[:-1])
    return all(
        bases.issuperset(cleaned.replaced)
        and is_complete(log.directory, cleaned.base_offset, cleaned.size)
        for cleaned in result.segments
    )


def _dirty_ratio(candidate: Candidate) -> float:
    return candidate.dirty_ratio
