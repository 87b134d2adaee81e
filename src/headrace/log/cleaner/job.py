"""One round of compaction as plain data: what goes to a helper process, and what comes back."""

import math
from dataclasses import dataclass

from headrace.log.txn_index import AbortedTxn


@dataclass(frozen=True, slots=True)
class SegmentFacts:
    """A segment that is not the active one, as it was when the job was made."""

    base_offset: int
    size: int
    offset_index_size: int
    time_index_size: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class LastOfProducer:
    """Where a live producer's state rests: its last data batch, or only a marker (-1)."""

    last_data_offset: int
    epoch: int


@dataclass(frozen=True, slots=True)
class CleanJob:
    """Everything `run` needs to compact one log; it shares no memory with the broker."""

    directory: str
    topic: str
    partition: int
    #: All segments below `first_uncleanable_offset`, in order.
    segments: tuple[SegmentFacts, ...]
    first_dirty_offset: int
    #: Always the base offset of a segment: nothing at or above it is looked at.
    first_uncleanable_offset: int
    #: Aborted transactions with data below `first_uncleanable_offset`.
    aborted: tuple[AbortedTxn, ...]
    producers: dict[int, LastOfProducer]
    now_ms: int
    delete_retention_ms: int
    segment_bytes: int
    segment_index_bytes: int
    index_interval_bytes: int
    #: Memory for the map of keys, `log.cleaner.dedupe.buffer.size` times its load factor; a round
    #: ends early when it is full.
    map_bytes: int
    #: `log.cleaner.io.max.bytes.per.second`, for whoever makes the throttle of `run`.
    bytes_per_second_max: float = math.inf


@dataclass(frozen=True, slots=True)
class CleanedSegment:
    """A `.cleaned` segment that waits to take the place of `replaced`."""

    base_offset: int
    size: int
    replaced: tuple[int, ...]


@dataclass(slots=True)
class CleanStats:
    """What a round read, kept and dropped."""

    map_bytes_read: int = 0
    map_keys: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    records_read: int = 0
    records_written: int = 0
    #: Records without a key, which a compacted topic cannot hold; they are dropped.
    keyless_records: int = 0
    #: Batches whose records cannot be read; they are kept as they are.
    unreadable_batches: int = 0


@dataclass(frozen=True, slots=True)
class CleanResult:
    """Swap the segments in, in order; then everything below `end_offset` is clean."""

    segments: tuple[CleanedSegment, ...]
    end_offset: int
    stats: CleanStats


class CleaningError(Exception):
    """A round that did not succeed; `errno` if the disk said so, otherwise the data is at fault."""

    def __init__(self, reason: str, errno: int | None = None) -> None:
        super().__init__(reason, errno)
        self.reason = reason
        self.errno = errno
