"""Binary columns in the registry's wire format to columns of a reader's Avro schema."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.serde.avro_columns import opcodes as op
from headrace.serde.avro_columns.decode_kernel import decode_rows
from headrace.serde.avro_columns.decode_program import DecodeWriter, write_null_row
from headrace.serde.avro_columns.layout import Layout
from headrace.serde.avro_columns.memory import COUNT_MAX, Memory
from headrace.serde.avro_columns.program import Assembler
from headrace.serde.avro_columns.schema import Node
from headrace.serde.errors import SchemaError

#: Nested values deeper than this are hostile: the types of columns are not nested so deeply.
_DEPTH_MAX = 1000
_CAP_MIN = 64
#: An id that the registry does not know may be one that it does not know yet.
_ASK_AGAIN_S = 30.0
_UNKNOWN_MAX = 1000

#: The schema that an id stands for. Whatever is wrong with the id alone is a `SchemaError`.
FindSchema = Callable[[int], Node]


class Decoded(NamedTuple):
    """A value for each row, and why it is null for those that could not be decoded."""

    values: pa.Array
    reasons: dict[int, str]


class AvroColumnDecoder:
    """One reader's schema; writers' schemas are asked for when their ids are met."""

    def __init__(self, reader: Node, find_schema: FindSchema) -> None:
        self._reader = reader
        self._find_schema = find_schema
        self._layout = Layout(reader)
        self.arrow_type: pa.DataType = self._layout.root.arrow
        self._assembler = Assembler()
        write_null_row(self._assembler, self._layout.root)
        self._entries: dict[int, int] = {}
        self._unknown_until: dict[int, float] = {}
        self._program: tuple[Any, ...] = ()
        self._freeze()
        #: How many of each counter a row took so far, at most.
        self._per_row = np.zeros(self._layout.counters)

    def decode(self, column: pa.Array) -> Decoded:
        """The values of a binary column; null stays null."""
        return self._decode(_rows(column))

    def decode_slices(self, data: Any, positions: Any, lengths: Any) -> Decoded:
        """As `decode`, of rows that lie anywhere in `data`; a length below 0 is null."""
        starts = np.ascontiguousarray(positions, np.int64)
        sizes = np.ascontiguousarray(lengths, np.int64)
        stops = starts + np.maximum(sizes, 0)
        content = np.frombuffer(data, np.uint8)
        content.setflags(write=False)
        if len(starts) != len(sizes):
            raise SchemaError("Positions and lengths of rows differ in number.")
        if len(starts) and (int(starts.min()) < 0 or int(stops.max()) > len(content)):
            raise SchemaError("A row lies outside of its data.")
        missing = sizes < 0
        there = (~missing).astype(np.uint8) if missing.any() else np.empty(0, np.uint8)
        return self._decode((content, starts, stops, there))

    def _decode(self, rows: tuple[Any, ...]) -> Decoded:
        self._forget_unknown()
        count = len(rows[1])
        memory = Memory(self._layout, self._first_caps(rows))
        counters = (
            *(memory.counts, memory.caps, np.zeros_like(memory.counts)),
            np.zeros(_DEPTH_MAX, np.int64),
        )
        failures, places = np.zeros(count, np.int32), np.zeros(count, np.int64)
        state = np.zeros(3, np.int64)
        while True:
            why = decode_rows(
                rows, self._program, memory.views(), counters, (failures, places), state
            )
            if why == op.DONE:
                break
            if why == op.UNKNOWN_SCHEMA:
                self._add(int(state[1]))
            elif int(state[2]) > COUNT_MAX:
                raise SchemaError("A batch of rows makes a column of more than 2 GB.")
            else:
                memory.grow(int(state[1]), int(state[2]))
        if count:
            self._per_row = np.maximum(self._per_row, memory.counts / count)
        found = np.flatnonzero(failures).tolist()
        reasons = {
            row: self._assembler.reason(int(failures[row]), int(places[row])) for row in found
        }
        return Decoded(memory.array(self._layout.root), reasons)

    def _add(self, schema_id: int) -> None:
        assembler = self._assembler
        mark = assembler.mark()
        try:
            writer = self._find_schema(schema_id)
            entry = DecodeWriter(assembler).write(writer, self._reader, self._layout.root)
        except (SchemaError, RecursionError) as error:
            what = str(error) if isinstance(error, SchemaError) else "it is nested too deeply"
            assembler.rewind(mark)
            entry = assembler.here
            assembler.fail(f"schema {schema_id}: {what.rstrip('.')}")
            self._unknown_until[schema_id] = time.monotonic() + _ASK_AGAIN_S
        self._entries[schema_id] = entry
        self._freeze()

    def _forget_unknown(self) -> None:
        now, all_ = time.monotonic(), len(self._unknown_until) > _UNKNOWN_MAX
        due = [one for one, until in self._unknown_until.items() if all_ or until <= now]
        for schema_id in due:
            del self._entries[schema_id], self._unknown_until[schema_id]
        if due:
            self._rebuild()

    def _rebuild(self) -> None:
        """Programs anew, without those of ids that were not known."""
        known = list(self._entries)
        self._entries.clear()
        self._assembler = Assembler()
        write_null_row(self._assembler, self._layout.root)
        self._freeze()
        for schema_id in known:
            self._add(schema_id)

    def _freeze(self) -> None:
        """The program as arrays."""
        assembler = self._assembler
        self._program = (
            np.array(assembler.code, np.int64),
            np.array(assembler.tables, np.int64),
            np.frombuffer(bytes(assembler.constants) or b"\0", np.uint8),
            np.array(list(self._entries), np.int64),
            np.array(list(self._entries.values()), np.int64),
        )

    def _first_caps(self, rows: tuple[Any, ...]) -> npt.NDArray[np.int64]:
        count = len(rows[1])
        guess = np.maximum(self._per_row * 1.2 * count, _CAP_MIN)
        caps = np.minimum(guess, COUNT_MAX).astype(np.int64)
        caps[0] = count
        return caps


def _rows(column: pa.Array) -> tuple[Any, ...]:
    """Data, places and validity, checked once so that the compiled code need not look again."""
    if pa.types.is_binary(column.type) or pa.types.is_string(column.type):
        kind: Any = np.int32
    elif pa.types.is_large_binary(column.type) or pa.types.is_large_string(column.type):
        kind = np.int64
    else:
        raise SchemaError(f"Only binary columns can be decoded, not {column.type}.")
    count = len(column)
    _, offset_buffer, content = column.buffers()
    if count == 0 or offset_buffer is None:
        offsets = np.zeros(count + 1, np.int64)
    else:
        start, stop = column.offset, column.offset + count + 1
        offsets = np.frombuffer(offset_buffer, kind)[start:stop].astype(np.int64)
    data = np.frombuffer(content if content is not None and content.size else b"\0", np.uint8)
    data = data[: content.size if content is not None else 0]
    data.setflags(write=False)
    if offsets[0] < 0 or offsets[-1] > len(data) or bool(np.any(np.diff(offsets) < 0)):
        raise SchemaError("The offsets of the binary column lie outside of its data.")
    if column.null_count == 0:
        validity = np.empty(0, np.uint8)
    else:
        validity = column.is_valid().cast(pa.uint8()).to_numpy(zero_copy_only=False)
    there = np.ascontiguousarray(validity, np.uint8).copy()
    return data, offsets[:-1].copy(), offsets[1:].copy(), there
