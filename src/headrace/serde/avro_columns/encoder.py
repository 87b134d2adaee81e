"""Columns to binary columns in the registry's wire format, by one Avro schema."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from headrace.serde.avro_columns import encode_opcodes as op
from headrace.serde.avro_columns.arrow_input import Sources
from headrace.serde.avro_columns.decoder import Decoded
from headrace.serde.avro_columns.encode_kernel import encode_rows
from headrace.serde.avro_columns.encode_program import EncodeWriter
from headrace.serde.avro_columns.program import Assembler
from headrace.serde.avro_columns.schema import Node
from headrace.serde.errors import SerdeError
from headrace.serde.wire import PREFIX_SIZE, prefix

_BYTES_MAX = 2**31 - 1
_ROOM_MIN = 1024


class AvroColumnEncoder:
    """One schema and one type of columns; raises if they do not fit each other."""

    def __init__(self, node: Node, schema_id: int, arrow: pa.DataType) -> None:
        self._sources = Sources(arrow)
        self._assembler = Assembler()
        EncodeWriter(self._assembler).write(node, self._sources.root)
        self._program = (
            np.array(self._assembler.code, np.int64),
            np.array(self._assembler.tables, np.int64),
            np.frombuffer(bytes(self._assembler.constants) or b"\0", np.uint8),
        )
        self._header = np.frombuffer(prefix(schema_id), np.uint8)
        self._per_row = float(PREFIX_SIZE + 16)

    def encode(self, column: pa.Array) -> Decoded:
        """A binary column, and why it is null for the rows that do not fit; null stays null."""
        count = len(column)
        memory = self._sources.load(column)
        levels = self._sources.levels
        indexes = (np.zeros(levels, np.int64), np.zeros(levels, np.int64))
        stops = np.zeros(count, np.int64)
        failures, places = np.zeros(count, np.int32), np.zeros(count, np.int64)
        out = np.empty(int(self._per_row * 1.2 * count) + _ROOM_MIN, np.uint8)
        state = np.zeros(3, np.int64)
        while True:
            output = (out, stops, failures, places)
            why = encode_rows(self._program, memory, indexes, self._header, output, state)
            if why == op.DONE:
                break
            out = _larger(out, int(state[1]), int(state[2]))
        used = int(state[1])
        if used > _BYTES_MAX:
            raise SerdeError("A batch of rows makes more than 2 GB of Avro.")
        if count:
            self._per_row = max(self._per_row, used / count)
        found = np.flatnonzero(failures).tolist()
        reasons = {row: self._reason(failures, places, row) for row in found}
        return Decoded(_binary(column, out[:used], stops, reasons), reasons)

    def _reason(self, failures: Any, places: Any, row: int) -> str:
        path = self._assembler.paths[int(places[row]) // op.WIDTH].lstrip(".")
        where = f"field {path}: " if path else ""
        what = op.REASONS[int(failures[row])]
        return f"The value does not fit its schema: {where}{what}."


def _larger(out: Any, used: int, needed: int) -> Any:
    """Room for what is written and at least `needed` more."""
    grown = np.empty(max(2 * len(out), used + 2 * needed + _ROOM_MIN), np.uint8)
    grown[:used] = out[:used]
    return grown


def _binary(column: pa.Array, content: Any, stops: Any, reasons: dict[int, str]) -> pa.Array:
    offsets = np.zeros(len(stops) + 1, np.int32)
    offsets[1:] = stops
    validity, missing = None, column.null_count + len(reasons)
    if missing:
        there = column.is_valid().to_numpy(zero_copy_only=False).copy()
        there[list(reasons)] = False
        validity = pa.py_buffer(np.packbits(there, bitorder="little"))
    buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(content)]
    return pa.Array.from_buffers(pa.binary(), len(stops), buffers, missing)
