"""Columns of records as Arrow arrays, without an object per record.

The names and types of the columns are those of Spark's `kafka` format.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.records.column_types import Columns, Slices
from headrace.records.columns_numba import byte_array, pack
from headrace.records.header_kernels import count_headers, split_headers

HEADER_TYPE = pa.list_(
    pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())]))
)
TIMESTAMP_TYPE = pa.timestamp("us", tz="UTC")

#: Every column, in Spark's order; `headers` only if it is asked for.
NAMES = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")


def to_arrow(
    columns: Columns,
    names: Sequence[str],
    *,
    topic: str,
    partition: int,
    made: Mapping[str, pa.Array] | None = None,
) -> pa.RecordBatch:
    """The named columns of some records of one partition; those in `made` as they are there."""
    made = made or {}
    arrays = [
        made[name] if name in made else _MAKERS[name](columns, topic, partition) for name in names
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(names))


def binary_array(column: Slices, kind: pa.DataType | None = None) -> pa.Array:
    """A column of byte strings (or of text, with `kind=pa.string()`)."""
    offsets, data = pack(column)
    lengths = np.asarray(column.lengths)
    validity, nulls = _validity(lengths >= 0)
    buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(kind or pa.binary(), len(column), buffers, null_count=nulls)


def _validity(valid: npt.NDArray[np.bool_]) -> tuple[pa.Buffer | None, int]:
    nulls = len(valid) - int(np.count_nonzero(valid))
    if nulls == 0:
        return None, 0
    return pa.py_buffer(np.packbits(valid, bitorder="little")), nulls


def _key(columns: Columns, topic: str, partition: int) -> pa.Array:
    return binary_array(columns.keys)


def _value(columns: Columns, topic: str, partition: int) -> pa.Array:
    return binary_array(columns.values)


def _topic(columns: Columns, topic: str, partition: int) -> pa.Array:
    """One text in every row: written once and laid out again and again."""
    text = np.frombuffer(topic.encode("utf-8"), np.uint8)
    count = len(columns)
    offsets = np.arange(0, (count + 1) * len(text), len(text), dtype=np.int32)[: count + 1]
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.tile(text, count))]
    return pa.Array.from_buffers(pa.string(), count, buffers, null_count=0)


def _partition(columns: Columns, topic: str, partition: int) -> pa.Array:
    return pa.array(np.full(len(columns), partition, np.int32))


def _offset(columns: Columns, topic: str, partition: int) -> pa.Array:
    return pa.array(np.asarray(columns.offsets, np.int64))


def _timestamp(columns: Columns, topic: str, partition: int) -> pa.Array:
    microseconds = np.asarray(columns.timestamps, np.int64) * 1000
    return pa.array(microseconds).view(TIMESTAMP_TYPE)


def _timestamp_type(columns: Columns, topic: str, partition: int) -> pa.Array:
    kinds = [int(header.uses_append_time) for header in columns.batches]
    ends = np.asarray(columns.batch_rows, np.int64)
    return pa.array(np.repeat(np.asarray(kinds, np.int32), ends[1:] - ends[:-1]))


def _headers(columns: Columns, topic: str, partition: int) -> pa.Array:
    """Lists of (name, value); a record without headers has a null, as in Spark's connector."""
    data = byte_array(columns.headers.data)
    positions = np.ascontiguousarray(columns.headers.positions, np.int32)
    lengths = np.ascontiguousarray(columns.headers.lengths, np.int32)
    ends = np.zeros(len(positions) + 1, np.int32)
    total = count_headers(data, positions, lengths, ends[1:])
    places = np.empty((4, total), np.int32)
    split_headers(data, positions, lengths, places)
    names = binary_array(Slices(columns.headers.data, places[0], places[1]), pa.string())
    values = binary_array(Slices(columns.headers.data, places[2], places[3]))
    entries = pa.StructArray.from_arrays([names, values], names=["key", "value"])
    validity, nulls = _validity(np.diff(ends) > 0)
    return pa.Array.from_buffers(
        HEADER_TYPE,
        len(positions),
        [validity, pa.py_buffer(ends)],
        null_count=nulls,
        children=[entries],
    )


_MAKERS: dict[str, Callable[[Columns, str, int], pa.Array]] = {
    "key": _key,
    "value": _value,
    "topic": _topic,
    "partition": _partition,
    "offset": _offset,
    "timestamp": _timestamp,
    "timestampType": _timestamp_type,
    "headers": _headers,
}
