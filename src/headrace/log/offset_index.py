"""`.index`: from an offset to the place in the log file where to start looking for it.

An entry is the last offset of a batch, relative to the segment's base offset, and the position
where that batch begins; there is one entry every `index.interval.bytes` or so.
"""

import os
from struct import Struct

from headrace.log.errors import CorruptIndexError
from headrace.log.index_file import IndexFile

ENTRY_SIZE = 8


class OffsetIndex(IndexFile):
    """The offset index of one segment."""

    __slots__ = ()

    entry = Struct(">ii")

    def append(self, last_offset: int, position: int) -> None:
        """Note that the batch ending with `last_offset` begins at `position`."""
        self._append_entry(last_offset - self.base_offset, position)

    def lookup(self, offset: int) -> int:
        """A position at or before the batch that holds `offset`, as the index has it."""
        return self.floor(offset - self.base_offset, 0)[1][1]

    def last_position(self) -> int:
        """Where the last indexed batch begins."""
        count = len(self)
        return self.get(count - 1)[1] if count else 0

    def truncate_to(self, offset: int) -> None:
        """Drop entries for batches that hold `offset` or anything after it."""
        self.keep(self.floor_slot(offset - self.base_offset - 1, 0) + 1)

    def check(self, log_size: int) -> None:
        """Raise `CorruptIndexError` if the stored entries cannot belong to this segment."""
        try:
            size = os.stat(self.path).st_size
        except FileNotFoundError:
            raise CorruptIndexError(f"{self.path} does not exist") from None
        if size % ENTRY_SIZE:
            raise CorruptIndexError(f"{self.path} has {size} bytes, no multiple of {ENTRY_SIZE}")
        if self.stored:
            relative, position = self.get(self.stored - 1)
            if relative < 0 or not 0 <= position < log_size:
                raise CorruptIndexError(f"{self.path} ends with ({relative}, {position})")
