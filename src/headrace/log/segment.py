"""A segment: one log file and its indexes.

Only the last segment of a log is written to. The others never change; compaction replaces them.
Nothing here knows of producers, epochs or high watermarks: offsets, positions and bytes only.
"""

import os

from headrace.log.file_slice import FileSlice
from headrace.log.open_files import OpenFiles
from headrace.log.scan import find_position, header_in_file, no_batch_at, scan_headers
from headrace.log.segment_writes import SegmentWrites

#: Positions remembered for readers that go on where they stopped, per segment.
_HINTS_MAX = 64
_NEVER = 1 << 62


class Segment(SegmentWrites):
    """A stretch of the log: what it takes to read and to cut one."""

    __slots__ = ("_hints",)

    def __init__(
        self, files: OpenFiles, directory: str, base_offset: int, *, suffix: str = ""
    ) -> None:
        super().__init__(files, directory, base_offset, suffix=suffix)
        #: Offset -> position of the first batch that reaches it, for sequential readers.
        self._hints: dict[int, int] = {}

    # Reading

    def read(
        self,
        offset: int,
        max_bytes: int,
        end_offset: int,
        next_offset: int,
        at_least_one: bool,
        lazy_from: int = _NEVER,
    ) -> tuple[bytes | FileSlice, int] | None:
        """Whole batches from the one that holds `offset`; None if all of them are before it.

        Everything below `next_offset` that this segment will ever hold is in it; nothing at or
        past `end_offset` is returned. From `lazy_from` bytes on they stay in the file. With them
        comes an offset that they do not reach: that of the next batch, or one behind it.
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
            return (b"", next_offset) if position < self.size else None
        fd = self.file.fd
        if fd < 0:
            fd = self.files.open(self.file)
        self.file.used = True
        size = end - position
        data: bytes | FileSlice
        if size >= lazy_from:
            data = FileSlice(self.files, self.file, position, size)
        else:
            data = os.pread(fd, size, position)
        if end_offset >= 0:
            following = min(end_offset, next_offset)
            self._remember(following, end)
        elif end + 8 <= self.size:
            following = int.from_bytes(os.pread(fd, 8, end), "big")
            self._remember(following, end)
        else:
            following = next_offset
        return data, following

    def find(self, offset: int) -> int:
        """The position of the first batch whose last offset is at least `offset`, or -1."""
        if offset <= self.base_offset:
            return 0 if self.size else -1
        return find_position(self.fd(), offset, self.start_before(offset), self.size)

    def start_before(self, offset: int) -> int:
        """A batch's position at or before the one that holds `offset`, by the index.

        Nothing protects an index from a bad disk, and a reader sent to a wrong place would take
        any bytes for a batch. So an entry that lies is passed over for the one before it.
        """
        target = offset - self.base_offset
        slot, (relative, position) = self.offset_index.floor(target, 0)
        while slot >= 0:
            # The one before may lie behind `offset`: a search among lies ends anywhere.
            if relative <= target and self._is_batch(relative, position):
                return position
            slot -= 1
            relative, position = self.offset_index.get(slot) if slot >= 0 else (0, 0)
        return 0

    def _is_batch(self, relative: int, position: int) -> bool:
        """True if a batch begins where an index entry says."""
        if not 0 <= position < self.size:
            return False
        header = header_in_file(self.fd(), position, self.size)
        # Before 4.1, Kafka noted the last offset of all batches of one append.
        return header is not None and (
            self.base_offset <= header.last_offset <= self.base_offset + relative
        )

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
        _, (relative, indexed) = self.offset_index.floor(limit, 1)
        if indexed > position and self._is_batch(relative, indexed):
            return indexed
        stop = position
        for at, header in scan_headers(self.fd(), position, end):
            stop = at + header.size
            if stop > limit:
                return stop if at == position and at_least_one else at
        if stop == position:
            raise no_batch_at(position)
        return stop

    def _remember(self, offset: int, position: int) -> None:
        hints = self._hints
        if len(hints) >= _HINTS_MAX:
            del hints[next(iter(hints))]
        hints[offset] = position

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
        """Find the largest timestamp of what a cut left: it may lie behind the last index entry."""
        self.index_room = 0
        self.indexed_position = self.offset_index.last_position()
        self.forget_first_timestamp()
        timestamp, offset = self.time_index.last_entry()
        for _, header in scan_headers(self.fd(), self.start_before(offset), self.size):
            if header.max_timestamp > timestamp:
                timestamp, offset = header.max_timestamp, header.last_offset
        self.set_max_timestamp(timestamp, offset)
