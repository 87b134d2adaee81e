"""The segments of a log in order, found by offset."""

from bisect import bisect_right
from collections.abc import Iterator

from headrace.log.segment import Segment


class Segments:
    """Segments by base offset; the last one is the active one."""

    __slots__ = ("_bases", "_items")

    def __init__(self) -> None:
        self._items: list[Segment] = []
        self._bases: list[int] = []

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._items.copy())

    def __getitem__(self, index: int) -> Segment:
        return self._items[index]

    @property
    def base_offsets(self) -> list[int]:
        return self._bases.copy()

    @property
    def active(self) -> Segment:
        return self._items[-1]

    def add(self, segment: Segment) -> None:
        index = bisect_right(self._bases, segment.base_offset)
        self._items.insert(index, segment)
        self._bases.insert(index, segment.base_offset)

    def remove(self, segment: Segment) -> None:
        index = self._items.index(segment)
        del self._items[index]
        del self._bases[index]

    def clear(self) -> None:
        self._items.clear()
        self._bases.clear()

    def floor_index(self, offset: int) -> int:
        """The index of the last segment that begins at or before `offset`, or -1."""
        return bisect_right(self._bases, offset) - 1

    def from_offset(self, offset: int) -> list[Segment]:
        """The segment that holds `offset`, and all after it."""
        return self._items[max(self.floor_index(offset), 0) :]

    def after(self, segment: Segment) -> Segment | None:
        index = bisect_right(self._bases, segment.base_offset)
        return self._items[index] if index < len(self._items) else None

    def size_bytes(self) -> int:
        return sum(segment.size for segment in self._items)
