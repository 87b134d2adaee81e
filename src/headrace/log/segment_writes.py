"""The writing side of a segment: bytes at its end, and the times and indexes that go with them."""

import contextlib
import errno
import os
from typing import Self

from headrace.log.open_files import OpenFiles
from headrace.log.scan import scan_headers
from headrace.log.segment_files import SegmentFiles

_LONG_WALK_CHUNK = 65536
_NO_TIMESTAMP = -1
#: Stands for a time that is in the files, where nobody has looked for it yet.
_NOT_READ = -(1 << 63)


class SegmentWrites(SegmentFiles):
    """A log file that grows, its size, its largest timestamp, its index entries."""

    __slots__ = (
        "_first_timestamp",
        "_max_timestamp",
        "_max_timestamp_offset",
        "created_ms",
        "index_room",
        "indexed_position",
        "rolls_after",
        "size",
    )

    def __init__(
        self, files: OpenFiles, directory: str, base_offset: int, *, suffix: str = ""
    ) -> None:
        super().__init__(files, directory, base_offset, suffix=suffix)
        self.size = 0
        self.created_ms = 0
        #: Where the last indexed batch begins; -1 until the first append after opening.
        self.indexed_position = -1
        #: As many more batches may be indexed, none newer than `rolls_after`, before the log has
        #: to look at its limits again.
        self.index_room = 0
        self.rolls_after = _NO_TIMESTAMP
        self._first_timestamp = _NOT_READ
        self._max_timestamp = _NOT_READ
        self._max_timestamp_offset = base_offset

    @classmethod
    def create(
        cls, files: OpenFiles, directory: str, base_offset: int, now_ms: int, *, suffix: str = ""
    ) -> Self:
        """A new, empty segment; files of that name left by a crash are emptied."""
        segment = cls(files, directory, base_offset, suffix=suffix)
        segment.delete_files()
        segment._begin(now_ms)
        return segment

    @classmethod
    def create_first(cls, files: OpenFiles, directory: str, base_offset: int, now_ms: int) -> Self:
        """The same in a directory that was made just now."""
        segment = cls(files, directory, base_offset)
        segment._begin(now_ms)
        return segment

    def _begin(self, now_ms: int) -> None:
        try:
            self.files.open(self.file)
            self.offset_index.create()
            self.time_index.create()
        except OSError:
            # A log file that stays would count as a segment at the next start, though the log
            # may have gone on without it.
            with contextlib.suppress(OSError):
                self.delete_files()
            raise
        self.created_ms = now_ms
        self.indexed_position = 0
        self._first_timestamp = self._max_timestamp = _NO_TIMESTAMP

    @classmethod
    def open(
        cls, files: OpenFiles, directory: str, base_offset: int, now_ms: int, *, suffix: str = ""
    ) -> Self:
        """A segment that exists; nothing is read but the size of its log file."""
        segment = cls(files, directory, base_offset, suffix=suffix)
        segment.size = os.stat(segment.file.path).st_size
        segment.created_ms = now_ms
        return segment

    def __repr__(self) -> str:
        return f"Segment(base_offset={self.base_offset}, size={self.size}, {self.directory})"

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Append bytes and return where they begin. On failure the segment is as it was."""
        if self.indexed_position < 0:
            self._prepare_appends()
        position = self.size
        length = len(data)
        file = self.file
        fd = file.fd if file.fd >= 0 else self.files.open(file)
        file.used = True
        written = os.pwrite(fd, data, position)
        if written != length:
            self._write_rest(fd, memoryview(data)[written:], position, written)
        self.size = position + length
        return position

    def note(self, position: int, last_offset: int, max_timestamp: int, interval: int) -> None:
        """Keep times and indexes up to date with a batch that was written at `position`."""
        if max_timestamp > self._max_timestamp:
            self._max_timestamp = max_timestamp
            self._max_timestamp_offset = last_offset
        if position - self.indexed_position > interval:
            self.offset_index.append(last_offset, position)
            self.time_index.maybe_append(self._max_timestamp, self._max_timestamp_offset)
            self.indexed_position = position
            self.index_room -= 1
        elif position == 0:
            self._first_timestamp = max_timestamp

    def finish(self) -> None:
        """Bring the indexes on disk to what Kafka leaves behind when it rolls or closes."""
        max_timestamp, offset = self.max_timestamp_and_offset()
        self.time_index.maybe_append(max_timestamp, offset)
        self.store_indexes()

    def _prepare_appends(self) -> None:
        self.max_timestamp_and_offset()
        self.indexed_position = self.offset_index.last_position()

    def _write_rest(self, fd: int, rest: memoryview, position: int, written: int) -> None:
        """Go on after a short write; the kernel says why when nothing more fits."""
        try:
            while rest:
                count = os.pwrite(fd, rest, position + written)
                if count == 0:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                written += count
                rest = rest[count:]
        except OSError:
            os.ftruncate(fd, position)
            raise

    def rebuild_indexes(self, interval: int = 4096) -> None:
        """Write offset and time index anew by walking the log file, without checking it."""
        self.offset_index.reset()
        self.time_index.reset()
        self.indexed_position = 0
        self._max_timestamp, self._max_timestamp_offset = _NO_TIMESTAMP, self.base_offset
        for position, header in scan_headers(self.fd(), 0, self.size, _LONG_WALK_CHUNK):
            self.note(position, header.last_offset, header.max_timestamp, interval)
        self.finish()

    # Times

    def max_timestamp_and_offset(self) -> tuple[int, int]:
        """The largest timestamp, and the last offset of the batch that brought it."""
        if self._max_timestamp == _NOT_READ:
            self._max_timestamp, self._max_timestamp_offset = self.time_index.last_entry()
        return self._max_timestamp, self._max_timestamp_offset

    def set_max_timestamp(self, timestamp: int, offset: int) -> None:
        self._max_timestamp, self._max_timestamp_offset = timestamp, offset

    def largest_timestamp(self) -> int:
        """What retention by time goes by; without timestamps, when the file last changed."""
        timestamp, _ = self.max_timestamp_and_offset()
        if timestamp >= 0:
            return timestamp
        return os.stat(self.file.path).st_mtime_ns // 1_000_000

    def first_timestamp(self) -> int:
        """The first batch's largest timestamp, or -1; segments roll by their distance from it."""
        if self._first_timestamp == _NOT_READ:
            first = next(scan_headers(self.fd(), 0, self.size), None)
            self._first_timestamp = _NO_TIMESTAMP if first is None else first[1].max_timestamp
        return self._first_timestamp

    def forget_first_timestamp(self) -> None:
        self._first_timestamp = _NOT_READ if self.size else _NO_TIMESTAMP
