"""Fixed-size entries in a file beside a segment, the common part of offset and time index.

New entries stay in memory in the form they have on disk and are written many at a time, so an
append pays no system call for its index. What a hard kill takes is rebuilt from the log file.
Stored entries are not kept in memory: a search reads the few it needs from the page cache.
"""

import os
from struct import Struct
from typing import TypeAlias

#: Entries in memory before they are written, a page or so.
_PENDING_LIMIT = 4096
#: Entries that a search reads at a time.
_BLOCK_ENTRIES = 256

_SlotAndEntry: TypeAlias = tuple[int, tuple[int, int]]


class IndexFile:
    """Entries ordered by their first field."""

    __slots__ = ("_found_in", "_pending", "_stored", "base_offset", "path", "unsynced")

    entry: Struct

    def __init__(self, path: str, base_offset: int) -> None:
        self.path = path
        self.base_offset = base_offset
        self._stored = -1  # entries in the file; below zero until somebody asks
        #: The block in which the last search of the file ended; it may be gone since.
        self._found_in = 0
        self._pending = bytearray()
        #: The file changed since its last fsync.
        self.unsynced = False

    def __len__(self) -> int:
        return self.stored + len(self._pending) // self.entry.size

    @property
    def stored(self) -> int:
        """Entries that the file holds."""
        if self._stored < 0:
            self._stored = self._count_stored()
        return self._stored

    @property
    def has_pending(self) -> bool:
        return len(self._pending) > 0

    @property
    def pending_room(self) -> int:
        """How many more entries may stay in memory."""
        return max(0, _PENDING_LIMIT - len(self._pending)) // self.entry.size

    def get(self, slot: int) -> tuple[int, int]:
        """The fields of one entry, as stored."""
        stored = self.stored
        if slot >= stored:
            first, second = self.entry.unpack_from(self._pending, (slot - stored) * self.entry.size)
            return first, second
        fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return self._stored_entry(fd, slot)
        finally:
            os.close(fd)

    def floor_slot(self, target: int, field: int) -> int:
        """The last slot whose `field` is at most `target`, or -1. Both fields only ever grow."""
        slot, _ = self.floor(target, field)
        return slot

    def floor(self, target: int, field: int) -> _SlotAndEntry:
        """The last entry whose `field` is at most `target`, with its slot; slot -1 if none is."""
        pending = self._pending
        if pending and self.entry.unpack_from(pending, 0)[field] <= target:
            slot, found = self._floor_in(pending, target, field)
            return self.stored + slot, found
        return self._stored_floor(target, field)

    def entries(self) -> list[tuple[int, int]]:
        """All entries; for checks and rebuilds, not for the hot path."""
        data = b""
        if self.stored:
            with open(self.path, "rb") as file:
                data = file.read(self.stored * self.entry.size)
        return [(a, b) for a, b in self.entry.iter_unpack(data + bytes(self._pending))]

    def store(self) -> None:
        """Write what is in memory; the file exists afterwards and has its exact size."""
        stored = self.stored
        fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            size = stored * self.entry.size
            data = self._pending
            if data and os.pwrite(fd, data, size) != len(data):
                raise OSError(28, f"short write to {self.path}")
            size += len(data)
            if os.fstat(fd).st_size != size:
                os.ftruncate(fd, size)
        finally:
            os.close(fd)
        self._stored = stored + len(data) // self.entry.size
        self._pending = bytearray()
        self.unsynced = True

    def keep(self, count: int) -> None:
        """Drop all entries but the first `count`."""
        stored = self.stored
        if count >= stored:
            del self._pending[(count - stored) * self.entry.size :]
            return
        self._pending = bytearray()
        os.truncate(self.path, count * self.entry.size)
        self._stored = count
        self.unsynced = True

    def create(self) -> None:
        """Make the file, which must not be there yet."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        os.close(os.open(self.path, flags, 0o644))
        self._pending = bytearray()
        self._stored = 0
        self.unsynced = True

    def reset(self) -> None:
        """Forget every entry, in memory and in the file."""
        self._pending = bytearray()
        self._stored = 0
        self.store()

    def _append_entry(self, first: int, second: int) -> None:
        self._pending += self.entry.pack(first, second)

    def _stored_entry(self, fd: int, slot: int) -> tuple[int, int]:
        size = self.entry.size
        first, second = self.entry.unpack(os.pread(fd, size, slot * size))
        return first, second

    def _floor_in(self, data: bytes | bytearray, target: int, field: int) -> _SlotAndEntry:
        """Search entries in memory; -1 if the first one is already beyond `target`."""
        unpack, size = self.entry.unpack_from, self.entry.size
        low, high = -1, len(data) // size
        found = (0, 0)
        while high - low > 1:
            middle = (low + high) // 2
            first, second = unpack(data, middle * size)
            if (second if field else first) <= target:
                low, found = middle, (first, second)
            else:
                high = middle
        return low, found

    def _stored_floor(self, target: int, field: int) -> _SlotAndEntry:
        """Search the file by blocks, until one holds both sides of the boundary.

        A reader that goes on where it stopped finds that in the block of its last search or in
        the next one, so these come first.
        """
        low, high = 0, (self.stored + _BLOCK_ENTRIES - 1) // _BLOCK_ENTRIES
        best: _SlotAndEntry = (-1, (0, 0))
        if not high:
            return best
        unpack = self.entry.unpack_from
        stored_size = self.stored * self.entry.size
        block_size = _BLOCK_ENTRIES * self.entry.size
        guesses = [self._found_in + 1, self._found_in]
        fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            while low < high:
                middle = guesses.pop() if guesses else -1
                if not low <= middle < high:
                    middle = (low + high) // 2
                length = min(block_size, stored_size - middle * block_size)
                data = os.pread(fd, length, middle * block_size)
                if unpack(data, 0)[field] > target:
                    high = middle
                    continue
                self._found_in = middle
                first, second = unpack(data, length - self.entry.size)
                if (second if field else first) > target:
                    slot, found = self._floor_in(data, target, field)
                    return middle * _BLOCK_ENTRIES + slot, found
                best = (middle * _BLOCK_ENTRIES + length // self.entry.size - 1, (first, second))
                low = middle + 1
        finally:
            os.close(fd)
        return best

    def _count_stored(self) -> int:
        """Whole entries in the file, without the zeros that Kafka preallocates behind them."""
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return 0
        try:
            high = os.fstat(fd).st_size // self.entry.size
            if high <= 1 or self._stored_entry(fd, high - 1) != (0, 0):
                return high
            low = -1
            while high - low > 1:
                middle = (low + high) // 2
                if self._stored_entry(fd, middle) != (0, 0):
                    low = middle
                else:
                    high = middle
            return high
        finally:
            os.close(fd)
