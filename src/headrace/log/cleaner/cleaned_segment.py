"""Write a `.cleaned` segment: log file and indexes, on the disk before anybody may swap it in."""

import os
from collections.abc import Iterable
from contextlib import suppress

from headrace.log.cleaner.batch_filter import Kept
from headrace.log.file_names import CLEANED, LOG, OFFSET_INDEX, SEGMENT_KINDS, TIME_INDEX, file_name
from headrace.log.open_files import OpenFiles
from headrace.log.segment import Segment
from headrace.log.text_files import sync_file
from headrace.log.txn_index import AbortedTxn
from headrace.records.batch import BatchHeader

_BUFFER_SIZE = 1024 * 1024


class CleanedSegmentWriter:
    """Gathers batches and writes them many at a time."""

    __slots__ = ("_buffered", "_interval", "_notes", "_parts", "_segment")

    def __init__(self, directory: str, base_offset: int, index_interval_bytes: int) -> None:
        self._segment = Segment.create(
            OpenFiles(1), directory, base_offset, now_ms=0, suffix=CLEANED
        )
        self._interval = index_interval_bytes
        self._parts: list[bytes | bytearray | memoryview] = []
        #: Per batch in `_parts`: distance from their start, last offset, largest timestamp.
        self._notes: list[tuple[int, int, int]] = []
        self._buffered = 0

    @property
    def size(self) -> int:
        return self._segment.size + self._buffered

    def add(self, header: BatchHeader, kept: Kept) -> int:
        """Take a batch over; returns how many bytes went to the file just now."""
        last_offset = header.last_offset if kept.last_offset is None else kept.last_offset
        self._parts.append(kept.data)
        self._notes.append((self._buffered, last_offset, kept.max_timestamp))
        self._buffered += len(kept.data)
        return self.flush() if self._buffered >= _BUFFER_SIZE else 0

    def add_aborted(self, aborted: AbortedTxn) -> None:
        self._segment.txn_index.append(aborted)

    def flush(self) -> int:
        """Write what was gathered."""
        if not self._parts:
            return 0
        segment, count = self._segment, self._buffered
        start = segment.write(b"".join(self._parts))
        for distance, last_offset, max_timestamp in self._notes:
            segment.note(start + distance, last_offset, max_timestamp, self._interval)
        self._parts.clear()
        self._notes.clear()
        self._buffered = 0
        return count

    def finish(self, modified_ns: int) -> None:
        """Complete the files, keep the age of the data they come from, and sync them."""
        self.flush()
        self._segment.finish()
        self._segment.close()
        for kind in (LOG, OFFSET_INDEX, TIME_INDEX):
            os.utime(self._segment.path(kind), ns=(modified_ns, modified_ns))
        for kind in SEGMENT_KINDS:
            sync_file(self._segment.path(kind))

    def close(self) -> None:
        self._segment.close()


def is_complete(directory: str, base_offset: int, size: int) -> bool:
    """Whether the records of a `.cleaned` segment are all in their file."""
    with suppress(OSError):
        path = os.path.join(directory, file_name(base_offset, LOG, CLEANED))
        return os.stat(path).st_size == size
    return False


def discard_cleaned(directory: str, base_offsets: Iterable[int]) -> None:
    """Remove `.cleaned` files that will not be swapped in."""
    for base_offset in base_offsets:
        for kind in SEGMENT_KINDS:
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(directory, file_name(base_offset, kind, CLEANED)))
