"""Records in bulk: whole buffers of batches to columns and back, without an object per record.

`decode` and `encode` here are plain Python and work everywhere; `records.columns_numba` has the
same two functions compiled (for Spark executors and helper processes), on numpy arrays instead of
the standard library's. Both give equal columns and equal bytes for equal input.

Byte strings are never copied out: a column of them (`Slices`) says where each lies in one buffer.
That is also how Arrow's binary columns are made up, so they can be handed over, and handed in, as
they are.
"""

from array import array
from collections.abc import Callable, Sequence
from itertools import accumulate

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records.batch import TRANSACTIONAL_FLAG, BatchHeader, Buffer
from headrace.records.builder import frame_batch
from headrace.records.codecs import DEFAULT_LIMIT, Codec, compress
from headrace.records.column_types import BatchFields, Columns, Ints, Slices
from headrace.records.spans import BadBatchError, Spans, unpack_batches
from headrace.records.varint import encode_varint
from headrace.records.walk import Row, walk

__all__ = ["BatchFields", "Columns", "Ints", "Slices", "decode", "encode", "pack"]

_NULL = b"\x01"  # the varint -1
_NO_HEADERS = b"\x00"


def decode(
    buffer: Buffer,
    *,
    start_offset: int = 0,
    end_offset: int | None = None,
    keep: Callable[[BatchHeader], bool] | None = None,
    limit: int = DEFAULT_LIMIT,
) -> Columns:
    """Decode the records of all whole batches with offsets in [start_offset, end_offset).

    `keep` chooses batches by their header, before anything is decompressed (control batches,
    aborted transactions). `limit` bounds the decompressed bytes of one call. Decoding stops before
    a batch that is bad or goes beyond the limit; if that is the first one, BadBatchError says so.
    """
    spans = unpack_batches(
        buffer, start_offset=start_offset, end_offset=end_offset, keep=keep, limit=limit
    )
    data = bytes(spans.data)  # numbers come out of bytes faster than out of any other buffer
    rows: list[Row] = []
    batch_rows = [0]
    for index, header in enumerate(spans.headers):
        try:
            found = walk(data, spans.starts[index], spans.ends[index], header)
        except KafkaError as error:
            if index == 0:
                raise BadBatchError(error, header) from None
            spans.cut(spans.positions[index], header)
            break
        if header.base_offset < start_offset:
            found = [row for row in found if row[0] >= start_offset]
        if end_offset is not None and header.last_offset >= end_offset:
            found = [row for row in found if row[0] < end_offset]
        rows += found
        batch_rows.append(len(rows))
    return _columns(data, rows, batch_rows, spans)


def encode(
    columns: Columns,
    start: int = 0,
    stop: int | None = None,
    fields: BatchFields = BatchFields(),  # noqa: B008 - frozen
) -> bytearray:
    """Encode rows [start, stop) as one batch whose base offset is that of the first row."""
    stop = check_rows(columns, start, stop)
    base_offset, base_timestamp = columns.offsets[start], columns.timestamps[start]
    out = bytearray()
    previous = base_offset - 1
    max_timestamp = base_timestamp
    for row in range(start, stop):
        offset, timestamp = columns.offsets[row], columns.timestamps[row]
        if offset <= previous:
            raise _not_rising()
        previous = offset
        max_timestamp = max(max_timestamp, timestamp)
        headers = columns.headers[row]
        body = b"".join(
            (
                b"\x00",  # attributes: none are defined for a record
                encode_varint(timestamp - base_timestamp),
                encode_varint(offset - base_offset),
                *_field(columns.keys[row]),
                *_field(columns.values[row]),
                headers or _NO_HEADERS,
            )
        )
        out += encode_varint(len(body))
        out += body
    return frame_columns(columns, start, stop, fields, out, max_timestamp)


def pack(column: Slices) -> tuple[Ints, Buffer]:
    """Copy a column's bytes together: (offsets, data) as an Arrow binary array has them.

    There is one offset more than rows; a null takes no bytes and is told by its length of -1.
    """
    data = bytes(column.data)
    lengths = [column.lengths[row] for row in range(len(column))]
    offsets = array("i", accumulate((max(length, 0) for length in lengths), initial=0))
    parts = (
        data[column.positions[row] : column.positions[row] + length]
        for row, length in enumerate(lengths)
        if length > 0
    )
    return offsets, b"".join(parts)


def check_rows(columns: Columns, start: int, stop: int | None) -> int:
    """Check a range of rows to encode and return its end."""
    stop = len(columns) if stop is None else stop
    if not 0 <= start < stop <= len(columns):
        raise KafkaError(ErrorCode.INVALID_RECORD, f"No rows {start} to {stop} to encode.")
    return stop


def frame_columns(
    columns: Columns,
    start: int,
    stop: int,
    fields: BatchFields,
    payload: bytearray,
    max_timestamp: int,
) -> bytearray:
    """Compress encoded rows and put the header in front."""
    packed = (
        payload if fields.codec == Codec.NONE else compress(fields.codec, payload, fields.level)
    )
    base_offset = int(columns.offsets[start])
    return frame_batch(
        packed,
        base_offset=base_offset,
        leader_epoch=fields.leader_epoch,
        attributes=fields.codec | (TRANSACTIONAL_FLAG if fields.transactional else 0),
        last_offset_delta=int(columns.offsets[stop - 1]) - base_offset,
        base_timestamp=int(columns.timestamps[start]),
        max_timestamp=max_timestamp,
        producer_id=fields.producer_id,
        producer_epoch=fields.producer_epoch,
        base_sequence=fields.base_sequence,
        record_count=stop - start,
    )


def _field(value: bytes | None) -> tuple[bytes, bytes]:
    return (_NULL, b"") if value is None else (encode_varint(len(value)), value)


def _not_rising() -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, "The offsets of a batch's records must rise.")


def _columns(data: bytes, rows: list[Row], batch_rows: list[int], spans: Spans) -> Columns:
    turned: list[Sequence[int]] = list(zip(*rows, strict=True)) if rows else [()] * 8
    offsets, timestamps = array("q", turned[0]), array("q", turned[1])
    places = [array("i", column) for column in turned[2:]]
    return Columns(
        offsets,
        timestamps,
        Slices(data, places[0], places[1]),
        Slices(data, places[2], places[3]),
        Slices(data, places[4], places[5]),
        spans.headers,
        batch_rows,
        spans.consumed,
        spans.next_offset,
    )
