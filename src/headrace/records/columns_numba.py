"""The compiled twin of `records.columns`: same functions, same results, on numpy arrays.

For Spark executors and helper processes. Importing it costs most of a second (Numba), so nothing
on the broker's path does; compiled code is cached beside this file between processes.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records.batch import BatchHeader, Buffer
from headrace.records.codecs import DEFAULT_LIMIT
from headrace.records.columns import BatchFields, Columns, Ints, Slices, check_rows, frame_columns
from headrace.records.decode_kernels import walk_spans
from headrace.records.encode_kernels import encode_rows, measure_rows, pack_rows
from headrace.records.spans import BadBatchError, Spans, unpack_batches
from headrace.records.walk import invalid, walk

Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]

_NO_END = np.iinfo(np.int64).max


def decode(
    buffer: Buffer,
    *,
    start_offset: int = 0,
    end_offset: int | None = None,
    keep: Callable[[BatchHeader], bool] | None = None,
    limit: int = DEFAULT_LIMIT,
) -> Columns:
    """As `columns.decode`."""
    spans = unpack_batches(
        buffer, start_offset=start_offset, end_offset=end_offset, keep=keep, limit=limit
    )
    data = byte_array(spans.data)
    table = _span_table(spans)
    count = int(table[:, 2].sum())
    offsets, timestamps = np.empty(count, np.int64), np.empty(count, np.int64)
    places = np.empty((6, count), np.int32)
    rows_after = np.zeros(len(spans.headers) + 1, np.int64)
    bad = walk_spans(
        data,
        table,
        start_offset,
        _NO_END if end_offset is None else end_offset,
        offsets,
        timestamps,
        places,
        rows_after,
    )
    if bad >= 0:
        header = spans.headers[bad]
        if bad == 0:
            raise BadBatchError(_why_malformed(spans), header)
        spans.cut(spans.positions[bad], header)
    rows_after = rows_after[: len(spans.headers) + 1]
    count = int(rows_after[-1])
    places = places[:, :count]
    return Columns(
        offsets[:count],
        timestamps[:count],
        Slices(spans.data, places[0], places[1]),
        Slices(spans.data, places[2], places[3]),
        Slices(spans.data, places[4], places[5]),
        spans.headers,
        rows_after.tolist(),
        spans.consumed,
        spans.next_offset,
    )


def encode(
    columns: Columns,
    start: int = 0,
    stop: int | None = None,
    fields: BatchFields = BatchFields(),  # noqa: B008 - frozen
) -> bytearray:
    """As `columns.encode`."""
    stop = check_rows(columns, start, stop)
    offsets = _int64s(columns.offsets)[start:stop]
    timestamps = _int64s(columns.timestamps)[start:stop]
    keys = _slices(columns.keys, start, stop)
    values = _slices(columns.values, start, stop)
    headers = _slices(columns.headers, start, stop)
    sizes = np.empty(stop - start, np.int64)
    size = measure_rows(offsets, timestamps, keys[2], values[2], headers[2], sizes)
    if size < 0:
        raise KafkaError(ErrorCode.INVALID_RECORD, "The offsets of a batch's records must rise.")
    payload = bytearray(size)
    encode_rows(
        offsets, timestamps, *keys, *values, *headers, sizes, np.frombuffer(payload, np.uint8)
    )
    return frame_columns(columns, start, stop, fields, payload, int(timestamps.max()))


def pack(column: Slices) -> tuple[Ints, Buffer]:
    """As `columns.pack`."""
    data, positions, lengths = _slices(column, 0, len(column))
    offsets = np.zeros(len(column) + 1, np.int32)
    np.cumsum(np.maximum(lengths, 0), out=offsets[1:])
    packed = np.empty(int(offsets[-1]), np.uint8)
    pack_rows(data, positions, lengths, offsets, packed)
    return offsets, packed.data


def _why_malformed(spans: Spans) -> KafkaError:
    """Walk the first batch again in plain Python, which says what it stumbles over."""
    data = bytes(memoryview(spans.data)[spans.starts[0] : spans.ends[0]])
    try:
        walk(data, 0, len(data), spans.headers[0])
    except KafkaError as error:
        return error
    return invalid("a record is malformed")


def _span_table(spans: Spans) -> Int64s:
    table = np.empty((len(spans.headers), 7), np.int64)
    for row, header in enumerate(spans.headers):
        table[row] = (
            spans.starts[row],
            spans.ends[row],
            header.record_count,
            header.base_offset,
            header.last_offset_delta,
            header.max_timestamp if header.uses_append_time else header.base_timestamp,
            header.uses_append_time,
        )
    return table


def byte_array(buffer: Buffer) -> npt.NDArray[np.uint8]:
    """A read-only view, whatever the buffer: one type, so one compiled version."""
    data = np.frombuffer(buffer, np.uint8)
    data.setflags(write=False)
    return data


def _int64s(column: Ints) -> Int64s:
    return np.ascontiguousarray(column, np.int64)


def _slices(column: Slices, start: int, stop: int) -> tuple[npt.NDArray[np.uint8], Int32s, Int32s]:
    """A column's arrays, checked once so that the compiled code need not look again."""
    data = byte_array(column.data)
    positions = np.ascontiguousarray(column.positions, np.int32)[start:stop]
    lengths = np.ascontiguousarray(column.lengths, np.int32)[start:stop]
    if len(positions) != stop - start or len(lengths) != stop - start:
        raise KafkaError(ErrorCode.INVALID_RECORD, "The columns differ in length.")
    ends = positions.astype(np.int64) + np.maximum(lengths, 0)
    if len(ends) and (int(positions.min()) < 0 or int(ends.max()) > len(data)):
        raise KafkaError(ErrorCode.INVALID_RECORD, "A row lies outside its column's data.")
    return data, positions, lengths
