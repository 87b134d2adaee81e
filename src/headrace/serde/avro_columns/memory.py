"""The memory that a decode writes to, and Arrow's arrays over it.

One block for all regions, so that the kernel needs no more than a handful of arrays however many
columns there are. It grows where the data shows that more is needed, and what one batch needed is
the guess for the next.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.serde.avro_columns.layout import Column, Layout, Region

_ALIGNMENT = 64
#: Arrow counts the bytes of a column of text, and the items of one of lists, in 31 bits.
COUNT_MAX = 2**31 - 1


class Memory:
    """Regions for `caps[counter]` of everything."""

    def __init__(self, layout: Layout, caps: npt.NDArray[np.int64]) -> None:
        self._layout = layout
        self.caps = caps
        self.counts = np.zeros(layout.counters, np.int64)
        presence = [
            (index, region.counter)
            for index, region in enumerate(layout.regions)
            if region.fill == 1
        ]
        self._presence = np.array(presence, np.int64).reshape(-1, 2)
        self._allocate()
        for region, base in zip(layout.regions, self.bases, strict=True):
            self._prepare(region, int(base), 0)

    def grow(self, counter: int, needed: int) -> None:
        """Room for at least `needed`; what is written stays."""
        old, bases, caps = self.bytes, self.bases, self.caps.copy()
        self.caps[counter] = min(max(needed, int(self.caps[counter]) * 2), COUNT_MAX)
        self._allocate()
        for index, region in enumerate(self._layout.regions):
            used = (int(caps[region.counter]) + region.extra) * region.width
            start = int(self.bases[index])
            self.bytes[start : start + used] = old[bases[index] : bases[index] + used]
            self._prepare(region, start, used)

    def views(self) -> tuple[Any, ...]:
        """What the kernel calls memory."""
        types = (np.int32, np.int64, np.float32, np.float64)
        return (self.bytes, *(self.bytes.view(kind) for kind in types), self.bases, self._presence)

    def _allocate(self) -> None:
        bases = np.empty(len(self._layout.regions), np.int64)
        end = _ALIGNMENT  # the kernel's own
        for index, region in enumerate(self._layout.regions):
            bases[index] = end
            size = (int(self.caps[region.counter]) + region.extra) * region.width
            end += -(-size // _ALIGNMENT) * _ALIGNMENT
        self.bases = bases
        self.bytes = np.empty(end, np.uint8)

    def _prepare(self, region: Region, base: int, used: int) -> None:
        size = (int(self.caps[region.counter]) + region.extra) * region.width
        if region.fill >= 0:
            self.bytes[base + used : base + size] = region.fill
        if region.extra and not used:
            self.bytes[base : base + region.width] = 0

    # ---------------------------------------------------------------- Arrow

    def array(self, column: Column) -> pa.Array:
        """The column as it was written, without copies except of what Arrow keeps in bits."""
        length = int(self.counts[column.level])
        if column.kind == "null":
            return pa.nulls(length)
        validity, missing = self._validity(column, length)
        if column.kind == "record":
            children = [self.array(child) for child in column.children]
            return pa.Array.from_buffers(
                column.arrow, length, [validity], missing, children=children
            )
        if column.kind in ("array", "map"):
            offsets = self._buffer(column.offsets, length + 1)
            children = [self.array(child) for child in column.children]
            if column.kind == "map":
                fields = [column.arrow.key_field, column.arrow.item_field]
                children = [pa.StructArray.from_arrays(children, fields=fields)]
            return pa.Array.from_buffers(
                column.arrow, length, [validity, offsets], missing, children=children
            )
        if column.offsets >= 0:
            content = self._buffer(column.content, int(self.counts[column.counter]))
            buffers = [validity, self._buffer(column.offsets, length + 1), content]
            return pa.Array.from_buffers(column.arrow, length, buffers, missing)
        values = self._buffer(column.values, length)
        if column.kind == "boolean":
            values = _bits(np.frombuffer(values, np.uint8))
        return pa.Array.from_buffers(column.arrow, length, [validity, values], missing)

    def _validity(self, column: Column, length: int) -> tuple[pa.Buffer | None, int]:
        if column.validity < 0:
            return None, 0
        start = int(self.bases[column.validity])
        there = self.bytes[start : start + length]
        missing = length - int(np.count_nonzero(there))
        return (_bits(there) if missing else None), missing

    def _buffer(self, region: int, length: int) -> pa.Buffer:
        start = int(self.bases[region])
        return pa.py_buffer(self.bytes[start : start + length * self._layout.regions[region].width])


def _bits(flags: npt.NDArray[np.uint8]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))
