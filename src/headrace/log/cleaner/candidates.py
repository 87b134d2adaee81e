"""Which part of a log may be compacted, and whether it is worth it.

Never the active segment, nothing at or above the last stable offset (and so the high watermark),
nothing younger than `min.compaction.lag.ms`. Worth it is a log whose dirty share passes
`min.cleanable.dirty.ratio`, or that holds something older than `max.compaction.lag.ms`.
"""

import errno
import math
import os
from dataclasses import dataclass

from headrace.log.cleaner.job import CleanJob, LastOfProducer, SegmentFacts
from headrace.log.config import INT64_MAX
from headrace.log.errors import LogDirFailure
from headrace.log.offset_index import ENTRY_SIZE as OFFSET_ENTRY_SIZE
from headrace.log.partition_log import PartitionLog
from headrace.log.segment import Segment
from headrace.log.time_index import ENTRY_SIZE as TIME_ENTRY_SIZE

#: What a look, or a round of compaction, meets when its log was deleted or renamed under it.
GONE = frozenset({errno.ENOENT, errno.ENOTDIR})


@dataclass(frozen=True, slots=True)
class Candidate:
    """A log as the cleaner sees it."""

    log: PartitionLog
    first_dirty_offset: int
    #: The base offset of the first segment that stays untouched.
    first_uncleanable_offset: int
    clean_bytes: int
    cleanable_bytes: int
    #: How long ago `max.compaction.lag.ms` was passed, 0 if it was not.
    overdue_ms: int
    #: The checkpoint did not fit the log and was set back to its start.
    checkpoint_invalid: bool

    @property
    def dirty_ratio(self) -> float:
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0

    @property
    def is_worth_it(self) -> bool:
        if self.overdue_ms > 0 and self.cleanable_bytes > 0:
            return True
        return self.dirty_ratio > self.log.config.min_cleanable_dirty_ratio


def examine(
    log: PartitionLog, checkpoint: int | None, now_ms: int, high_watermark: int
) -> Candidate:
    """What there is to clean; `checkpoint` is where the last round ended.

    Raises `LogDirFailure` if the disk does not let us look.
    """
    try:
        return _examine(log, checkpoint, now_ms, high_watermark)
    except OSError as error:
        raise _refusal(log, error) from error


def _examine(
    log: PartitionLog, checkpoint: int | None, now_ms: int, high_watermark: int
) -> Candidate:
    start = log.log_start_offset
    invalid = checkpoint is not None and not start <= checkpoint <= log.log_end_offset
    first_dirty = start if checkpoint is None or invalid else checkpoint
    dirty = _inactive_from(log, first_dirty)

    limit = min(log.last_stable_offset(high_watermark), log.active.base_offset)
    lag_ms = log.config.min_compaction_lag_ms
    if lag_ms > 0:
        for segment in dirty:
            if segment.largest_timestamp() > now_ms - lag_ms:
                limit = min(limit, segment.base_offset)
                break
    uncleanable = _inactive_from(log, max(limit, first_dirty))
    end = uncleanable[0].base_offset if uncleanable else log.active.base_offset
    cleanable = [segment for segment in dirty if segment.base_offset < end]
    return Candidate(
        log,
        first_dirty,
        end,
        clean_bytes=sum(s.size for s in log.segments if s.base_offset < first_dirty),
        cleanable_bytes=sum(segment.size for segment in cleanable),
        overdue_ms=_overdue_ms(log, dirty, now_ms),
        checkpoint_invalid=invalid,
    )


def make_job(
    candidate: Candidate, now_ms: int, map_bytes: int, bytes_per_second_max: float = math.inf
) -> CleanJob:
    """The plain data with which a helper process can do the work. Raises `LogDirFailure`."""
    log = candidate.log
    segments = [s for s in log.segments if s.base_offset < candidate.first_uncleanable_offset]
    try:
        facts = tuple(map(_facts, segments))
    except OSError as error:
        raise _refusal(log, error) from error
    first_offset = segments[0].base_offset if segments else log.log_start_offset
    return CleanJob(
        directory=log.directory,
        topic=log.topic,
        partition=log.partition,
        segments=facts,
        first_dirty_offset=candidate.first_dirty_offset,
        first_uncleanable_offset=candidate.first_uncleanable_offset,
        aborted=tuple(log.aborted_transactions(first_offset, candidate.first_uncleanable_offset)),
        producers={
            entry.producer_id: LastOfProducer(entry.last_offset, entry.epoch)
            for entry in log.producers
        },
        now_ms=now_ms,
        delete_retention_ms=log.config.delete_retention_ms,
        segment_bytes=log.config.segment_bytes,
        segment_index_bytes=log.config.segment_index_bytes,
        index_interval_bytes=log.config.index_interval_bytes,
        map_bytes=map_bytes,
        bytes_per_second_max=bytes_per_second_max,
    )


def _refusal(log: PartitionLog, error: OSError) -> LogDirFailure:
    """Only a bad disk costs a log more than its turn."""
    action = "looking for what to compact"
    if error.errno not in GONE:
        return log.refuse(action, error)
    failure = LogDirFailure(log.directory, action, error)
    failure.passes = True
    return failure


def _inactive_from(log: PartitionLog, offset: int) -> list[Segment]:
    """The segment that holds `offset` and those after it, without the active one."""
    if offset >= log.active.base_offset:
        return []
    return log.segments.from_offset(offset)[:-1]


def _overdue_ms(log: PartitionLog, dirty: list[Segment], now_ms: int) -> int:
    lag_ms = log.config.max_compaction_lag_ms
    if lag_ms == INT64_MAX:
        return 0
    times = [timestamp for s in dirty if (timestamp := s.first_timestamp()) > 0]
    return max(0, now_ms - lag_ms - min(times)) if times else 0


def _facts(segment: Segment) -> SegmentFacts:
    return SegmentFacts(
        segment.base_offset,
        segment.size,
        len(segment.offset_index) * OFFSET_ENTRY_SIZE,
        len(segment.time_index) * TIME_ENTRY_SIZE,
        os.stat(segment.file.path).st_mtime_ns,
    )
