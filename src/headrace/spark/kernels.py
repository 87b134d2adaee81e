"""Compiles the kernels of readers and writers once, so that the first query need not.

    python -m headrace.spark.kernels

The machine code is kept for every later process; `records.compiling` says where.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pyarrow as pa

from headrace.records.builder import build_batch
from headrace.records.codecs import Codec
from headrace.records.columns_arrow import NAMES, to_arrow
from headrace.records.columns_numba import decode
from headrace.records.open_batches import OpenBatches
from headrace.records.record import Record
from headrace.serde.avro_columns.decoder import AvroColumnDecoder
from headrace.serde.avro_columns.encoder import AvroColumnEncoder
from headrace.serde.avro_columns.schema import parse_nodes
from headrace.spark.sink_rows import RowReader


def compile_kernels() -> None:
    """Run each kernel on a row, with the types that queries have."""
    records = [Record(0, 1, b"k", b"v", [("name", b"value")])]
    read = to_arrow(decode(bytes(build_batch(records))), NAMES, topic="t", partition=0)
    columns = ["key", "value", "headers"]
    rows = RowReader(columns, lambda topic: 0).rows(read.select(columns), "t", 1)
    targets, _ = rows.targets(np.zeros(1, np.int64), np.ones(1, np.int64))
    batches = OpenBatches(1, 1 << 16)
    batches.append(rows, 0, targets, np.zeros(1, np.int64))
    batches.close(0, Codec.NONE)
    _compile_avro()


def _compile_avro() -> None:
    text = '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "string"}]}'
    node = parse_nodes(text)
    values = pa.array([{"a": "x"}], pa.struct([("a", pa.string())]))
    written = AvroColumnEncoder(node, 1, values.type).encode(values)
    AvroColumnDecoder(node, lambda schema_id: node).decode(written.values)


def main() -> None:
    started = time.monotonic()
    compile_kernels()
    sys.stderr.write(f"The kernels are compiled ({time.monotonic() - started:.1f} s).\n")


if __name__ == "__main__":
    main()
