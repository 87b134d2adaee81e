"""A segment: one log file and its indexes.

Only the last segment of a log is written to. The others never change; compaction replaces them.
Nothing here knows of producers, epochs or high watermarks: offsets, positions and bytes only.
"""

import errno
import os

from headrace.log.open_files import OpenFiles
from headrace.log.scan import find_position, header_in_file, scan_headers
from headrace.log.segment_files import SegmentFiles

#: Positions remembered for readers that go on where they stopped, per segment.
_HINTS_MAX = 64
_LONG_WALK_CHUNK = 65536
_NO_TIMESTAMP = -1
#: Stands for a time that is in the files, where nobody has looked for it yet.
_NOT_READ = -(1 << 63)


class Segment(SegmentFiles):
    """A stretch of the log."""

    __slots__ = (
        "_first_timestamp",
        "_hints",
        "_max_timestamp",
        "_max_timestamp_offset",
        "created_ms",
        "indexed_position",
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
        self._first_timestamp = _NOT_READ
        self._max_timestamp = _NOT_READ
        self._max_timestamp_offset = base_offset
        #: Offset -> position of the first batch that reaches it, for sequential readers.
        self._hints: dict[int, int] = {}

    @classmethod
    def create(
        cls, files: OpenFiles, directory: str, base_offset: int, now_ms: int, *, suffix: str = ""
    ) -> "Segment":
        """A new, empty segment; files of that name left by a crash are emptied."""
        segment = cls(files, directory, base_offset, suffix=suffix)
        segment.delete_files()
        files.open(segment.file)
        segment.offset_index.reset()
        segment.time_index.reset()
        segment.created_ms = now_ms
        segment.indexed_position = 0
        segment._first_timestamp = segment._max_timestamp = _NO_TIMESTAMP
        return segment

    @classmethod
    def open(
        cls, files: OpenFiles, directory: str, base_offset: int, now_ms: int, *, suffix: str = ""
    ) -> "Segment":
        """A segment that exists; nothing is read but the size of its log file."""
        segment = cls(files, directory, base_offset, suffix=suffix)
        segment.size = os.stat(segment.file.path).st_size
        segment.created_ms = now_ms
        return segment

    def __repr__(self) -> str:
        return f"Segment(base_offset={self.base_offset}, size={self.size}, {self.directory})"

    # Writing

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

    # Reading

    def read(
        self, offset: int, max_bytes: int, end_offset: int, next_offset: int, at_least_one: bool
    ) -> bytes | None:
        """Whole batches from the one that holds `offset`; None if all of them are before it.

        Everything below `next_offset` that this segment will ever hold is in it; nothing at or
        past `end_offset` is returned.
        """
        position = self._hints.get(offset, -1)
        if position < 0:
            position = self.find(offset)
            if position < 0:
                return None
        if end_offset >= next_offset:
            end = self.size
        else:
            end = self._hints.get(end_offset, -1)
            if end < 0:
                end = self.find(end_offset)
                if end < 0:
                    end = self.size
        if end - position > max_bytes:
            end = self._cut(position, position + max_bytes, end, at_least_one)
            end_offset = -1
        if end <= position:
            return b"" if position < self.size else None
        fd = self.file.fd
        if fd < 0:
            fd = self.files.open(self.file)
        self.file.used = True
        data = os.pread(fd, end - position, position)
        if end_offset < 0:
            if end + 8 <= self.size:
                self._remember(int.from_bytes(os.pread(fd, 8, end), "big"), end)
        else:
            self._remember(min(end_offset, next_offset), end)
        return data

    def find(self, offset: int) -> int:
        """The position of the first batch whose last offset is at least `offset`, or -1."""
        if offset <= self.base_offset:
            return 0 if self.size else -1
        return find_position(self.fd(), offset, self.start_before(offset), self.size)

    def start_before(self, offset: int) -> int:
        """A batch's position at or before the one that holds `offset`, by the index."""
        slot, (relative, position) = self.offset_index.floor(offset - self.base_offset, 0)
        return self._verified(slot, relative, position)

    def _verified(self, slot: int, relative: int, position: int) -> int:
        """The position of an index entry if a batch begins there that ends with its offset.

        Nothing protects an index from a bad disk. A reader sent to a wrong place would take any
        bytes for a batch, so one that lies is built anew, and the walk begins at the start.
        """
        if slot < 0:
            return 0
        if 0 <= position < self.size:
            header = header_in_file(self.fd(), position, self.size)
            # Before 4.1, Kafka noted the last offset of all batches in one append.
            if (
                header is not None
                and self.base_offset <= header.last_offset <= self.base_offset + relative
            ):
                return position
        self.rebuild_indexes()
        return 0

    def rebuild_indexes(self, interval: int = 4096) -> None:
        """Write offset and time index anew by walking the log file, without checking it."""
        self.offset_index.reset()
        self.time_index.reset()
        self.indexed_position = 0
        self._max_timestamp, self._max_timestamp_offset = _NO_TIMESTAMP, self.base_offset
        for position, header in scan_headers(self.fd(), 0, self.size, _LONG_WALK_CHUNK):
            self.note(position, header.last_offset, header.max_timestamp, interval)
        self.finish()

    def next_offset(self) -> int:
        """The offset behind the last batch, found from the last index entry on."""
        return self.walk_to_end()[0]

    def walk_to_end(self) -> tuple[int, int]:
        """The offset behind the last sound batch header, and the position where it ends."""
        next_offset, end = self.base_offset, self.offset_index.last_position()
        for position, header in scan_headers(self.fd(), end, self.size):
            next_offset, end = header.next_offset, position + header.size
        return next_offset, end

    def _cut(self, position: int, limit: int, end: int, at_least_one: bool) -> int:
        """The batch boundary at which a read that must not pass `limit` stops."""
        slot, (relative, found) = self.offset_index.floor(limit, 1)
        boundary = self._verified(slot, relative, found) if found > position else 0
        if boundary > position:
            return boundary
        first = True
        for at, header in scan_headers(self.fd(), position, end):
            following = at + header.size
            if following > limit:
                return following if first and at_least_one else at
            first = False
        return end

    def _remember(self, offset: int, position: int) -> None:
        hints = self._hints
        if len(hints) >= _HINTS_MAX:
            del hints[next(iter(hints))]
        hints[offset] = position

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
            self._first_timestamp = _NO_TIMESTAMP
            for _, header in scan_headers(self.fd(), 0, self.size):
                self._first_timestamp = header.max_timestamp
                break
        return self._first_timestamp

    # Cutting

    def truncate_to(self, offset: int) -> int:
        """Cut off the batch that holds `offset` and all after it; where the segment ends now."""
        position = self.find(offset)
        if position >= 0:
            for _, header in scan_headers(self.fd(), position, self.size):
                offset = min(offset, header.base_offset)
                break
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.txn_index.truncate_to(offset)
        if position >= 0:
            self.truncate_file(position)
        self._read_times_again()
        return offset

    def truncate_file(self, size: int) -> None:
        """Cut the log file alone."""
        os.ftruncate(self.fd(), size)
        self.size = size
        self._hints.clear()

    def _read_times_again(self) -> None:
        self.indexed_position = self.offset_index.last_position()
        self._first_timestamp = _NOT_READ if self.size else _NO_TIMESTAMP
        timestamp, offset = self.time_index.last_entry()
        start = self.start_before(offset)
        for _, header in scan_headers(self.fd(), start, self.size):
            if header.max_timestamp > timestamp:
                timestamp, offset = header.max_timestamp, header.last_offset
        self._max_timestamp, self._max_timestamp_offset = timestamp, offset
