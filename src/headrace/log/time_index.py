"""`.timeindex`: from a timestamp to an offset from which to look for it.

An entry says: up to and including this offset (relative to the base offset), no record is newer
than this timestamp. Entries only ever grow in both fields. The last one, added when a segment is
rolled or closed, carries the segment's largest timestamp, which retention lives on.
"""

import os
from struct import Struct

from headrace.log.errors import CorruptIndexError
from headrace.log.index_file import IndexFile

ENTRY_SIZE = 12


class TimeIndex(IndexFile):
    """The time index of one segment."""

    __slots__ = ("_last_timestamp",)

    entry = Struct(">qi")

    def __init__(self, path: str, base_offset: int) -> None:
        super().__init__(path, base_offset)
        self._last_timestamp: int | None = None

    @property
    def last_timestamp(self) -> int:
        """The largest timestamp noted so far, or -1."""
        if self._last_timestamp is None:
            self._last_timestamp = self.last_entry()[0]
        return self._last_timestamp

    def last_entry(self) -> tuple[int, int]:
        """(timestamp, offset) of the last entry; (-1, base offset) if there is none."""
        count = len(self)
        if not count:
            return -1, self.base_offset
        timestamp, relative = self.get(count - 1)
        return timestamp, self.base_offset + relative

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Add an entry if `timestamp` is news."""
        if timestamp > self.last_timestamp:
            self._append_entry(timestamp, offset - self.base_offset)
            self._last_timestamp = timestamp

    def lookup(self, timestamp: int) -> int:
        """An offset at or before the first record that is as new as `timestamp`."""
        return self.base_offset + self.floor(timestamp, 0)[1][1]

    def truncate_to(self, offset: int) -> None:
        """Drop entries that speak of `offset` or anything after it."""
        self.keep(self.floor_slot(offset - self.base_offset - 1, 1) + 1)

    def keep(self, count: int) -> None:
        super().keep(count)
        self._last_timestamp = None

    def reset(self) -> None:
        super().reset()
        self._last_timestamp = None

    def check(self) -> None:
        """Raise `CorruptIndexError` if the stored entries cannot belong to this segment."""
        try:
            size = os.stat(self.path).st_size
        except FileNotFoundError:
            raise CorruptIndexError(f"{self.path} does not exist") from None
        if size % ENTRY_SIZE:
            raise CorruptIndexError(f"{self.path} has {size} bytes, no multiple of {ENTRY_SIZE}")
        if self.stored:
            first, _ = self.get(0)
            last, relative = self.get(self.stored - 1)
            if relative < 0 or last < first:
                raise CorruptIndexError(f"{self.path} ends with ({last}, {relative})")
