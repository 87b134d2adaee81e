"""Arrow's columns as the encode kernel reads them: one block of memory, whatever the columns.

Regions are numbered while a program is written, from a type alone; the same walk over an array of
that type fills them in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.serde.errors import SerdeError

_ALIGNMENT = 64
_PRIMITIVES = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_int8, "int"),
    (pa.types.is_int16, "int"),
    (pa.types.is_int32, "int"),
    (pa.types.is_int64, "long"),
    (pa.types.is_float32, "float"),
    (pa.types.is_float64, "double"),
    (pa.types.is_date32, "date"),
    (pa.types.is_timestamp, "timestamp"),
    (pa.types.is_decimal128, "decimal"),
    (pa.types.is_string, "string"),
    (pa.types.is_large_string, "string"),
    (pa.types.is_binary, "bytes"),
    (pa.types.is_large_binary, "bytes"),
    (pa.types.is_struct, "record"),
    (pa.types.is_map, "map"),
    (pa.types.is_list, "array"),
    (pa.types.is_large_list, "array"),
    (pa.types.is_null, "null"),
)


@dataclass(slots=True, eq=False)
class Source:
    """A column of the input; regions are `validity`, then values or offsets, then content."""

    kind: str
    arrow: pa.DataType
    level: int
    validity: int
    name: str = ""
    #: Of an array or a map: the level of its items.
    items: int = -1
    children: list[Source] = field(default_factory=list)

    @property
    def values(self) -> int:
        return self.validity + 1

    @property
    def content(self) -> int:
        return self.validity + 2


class Sources:
    """All columns below one type. Region 0 says which rows are there."""

    def __init__(self, arrow: pa.DataType) -> None:
        self.regions = 0
        self.levels = 1
        self.root = self._source(arrow, 0, "")

    def _source(self, arrow: pa.DataType, level: int, name: str) -> Source:
        kind = next((word for test, word in _PRIMITIVES if test(arrow)), None)
        if kind is None:
            raise SerdeError(f"A column of type {arrow} cannot be written as Avro.")
        source = Source(kind, arrow, level, self.regions, name)
        self.regions += 3
        if kind == "record":
            source.children = [self._source(one.type, level, one.name) for one in arrow]
        elif kind in ("array", "map"):
            source.items = self.levels
            self.levels += 1
            parts = [arrow.key_type, arrow.item_type] if kind == "map" else [arrow.value_type]
            source.children = [self._source(part, source.items, name) for part in parts]
        return source

    def load(self, array: pa.Array) -> tuple[Any, ...]:
        """The memory, and where each region begins in it."""
        found = dict(_parts(self.root, array))
        bases = np.full(self.regions, -1, np.int64)
        end = _ALIGNMENT  # the kernel's own
        for region, part in found.items():
            bases[region] = end
            end += -(-part.nbytes // _ALIGNMENT) * _ALIGNMENT
        memory = np.zeros(end, np.uint8)
        for region, part in found.items():
            start = int(bases[region])
            memory[start : start + part.nbytes] = part.view(np.uint8)
        types = (np.int32, np.int64, np.float32, np.float64)
        return (memory, *(memory.view(kind) for kind in types), bases)


def _parts(source: Source, array: pa.Array) -> Iterator[tuple[int, npt.NDArray[Any]]]:
    """Regions of a column and of all below it."""
    if array.null_count:
        there = array.is_valid().cast(pa.uint8()).to_numpy(zero_copy_only=False)
        yield source.validity, np.ascontiguousarray(there)
    kind = source.kind
    if kind == "record":
        for index, child in enumerate(source.children):
            yield from _parts(child, array.field(index))
    elif kind in ("array", "map"):
        yield source.values, array.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
        inner = array.values
        parts = [inner.field(0), inner.field(1)] if kind == "map" else [inner]
        for child, part in zip(source.children, parts, strict=True):
            yield from _parts(child, part)
    elif kind in ("string", "bytes"):
        yield from _content(source, array)
    elif kind == "boolean":
        flags = array.fill_null(False).cast(pa.uint8())
        yield source.values, _numbers(flags, np.uint8)
    elif kind == "decimal":
        yield source.values, _decimals(array)
    elif kind != "null":
        yield source.values, _fixed(kind, array)


def _fixed(kind: str, array: pa.Array) -> npt.NDArray[Any]:
    if kind in ("int", "date"):
        wide = array if array.type.bit_width == 32 else array.cast(pa.int32())
        return _numbers(wide, np.int32)
    if kind == "timestamp" and array.type.unit != "us":
        array = array.cast(pa.timestamp("us", array.type.tz))
    types = {"long": np.int64, "timestamp": np.int64, "float": np.float32, "double": np.float64}
    return _numbers(array, types[kind])


def _numbers(array: pa.Array, kind: Any) -> npt.NDArray[Any]:
    """The values as they lie in memory; those of nulls mean nothing."""
    buffer = array.buffers()[1]
    if buffer is None or len(array) == 0:
        return np.zeros(len(array), kind)
    return np.frombuffer(buffer, kind)[array.offset : array.offset + len(array)]


def _decimals(array: pa.Array) -> npt.NDArray[Any]:
    buffer = array.buffers()[1]
    if buffer is None or len(array) == 0:
        return np.zeros(2 * len(array), np.int64)
    return np.frombuffer(buffer, np.int64)[2 * array.offset : 2 * (array.offset + len(array))]


def _content(source: Source, array: pa.Array) -> Iterator[tuple[int, npt.NDArray[Any]]]:
    is_large = array.type in (pa.large_string(), pa.large_binary())
    _, offset_buffer, content = array.buffers()
    if offset_buffer is None or len(array) == 0:
        yield source.values, np.zeros(len(array) + 1, np.int64)
        return
    offsets = np.frombuffer(offset_buffer, np.int64 if is_large else np.int32)
    offsets = offsets[array.offset : array.offset + len(array) + 1].astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    yield source.values, offsets - first
    if content is not None and last > first:
        yield source.content, np.frombuffer(content, np.uint8)[first:last]
