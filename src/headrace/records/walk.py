"""The walk over the encoded records of one batch, in plain Python.

Everything that reads records stands on this one function or on its compiled twin in
`records.columns_numba`; both hold to the same rules, and the same tests run against both:

* a record lies within the batch's bytes, its fields within the record, and it ends where it says;
* offset deltas rise and stay within the batch's offset range;
* header names are not null; timestamps fit 64 bits;
* nothing follows the last record.

Whatever the bytes claim, the walk ends: with rows, or with KafkaError INVALID_RECORD.
"""

from collections.abc import Iterator
from typing import TypeAlias

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records.batch import BatchHeader
from headrace.records.varint import decode_varint32, decode_varint64

# offset, timestamp, then position and length of key, value and headers (length -1: null)
Row: TypeAlias = tuple[int, int, int, int, int, int, int, int]

SMALLEST_RECORD = 7  # length, attributes, two deltas, key and value length, header count
_SMALLEST_BODY = SMALLEST_RECORD - 1
LOWEST_TIMESTAMP = -(1 << 63)
TIMESTAMP_LIMIT = 1 << 63


def walk(data: bytes, start: int, end: int, header: BatchHeader) -> list[Row]:
    """Return a row for each record of the batch whose encoded records are `data[start:end]`."""
    return list(iter_rows(data, start, end, header))


def iter_rows(data: bytes, start: int, end: int, header: BatchHeader) -> Iterator[Row]:
    """As `walk`, for whoever keeps no rows: a megabyte of them may take a hundred.

    All rows are sound only once the last one has been taken.
    """
    if not 0 <= start <= end <= len(data):
        raise invalid(f"bytes {start} to {end} are not within {len(data)}")
    check_room(header, end - start)
    try:
        yield from _walk(data, start, end, header)
    except IndexError:
        raise invalid("the records end too early") from None


def check_room(header: BatchHeader, size: int) -> None:
    """Raise unless `size` bytes can hold as many records as the batch claims."""
    if header.record_count * SMALLEST_RECORD > size:
        raise invalid(f"{size} bytes cannot hold {header.record_count} records")


def invalid(reason: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, f"Bad records in a batch: {reason}.")


def _walk(  # noqa: C901 - branches instead of calls, see below
    data: bytes, position: int, end: int, header: BatchHeader
) -> Iterator[Row]:
    # One-byte numbers are decoded in line: a call each would double the cost of a record.
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    last_delta = header.last_offset_delta
    append_time = header.max_timestamp if header.uses_append_time else None
    previous = -1
    for _ in range(header.record_count):
        length, position = decode_varint32(data, position)
        record_end = position + length
        if length < _SMALLEST_BODY or record_end > end:
            raise invalid(f"a record of {length} bytes with {end - position} left")
        position += 1  # attributes: none are defined for a record
        delta = data[position]
        if delta < 0x80:
            position += 1
            timestamp = base_timestamp + ((delta >> 1) ^ -(delta & 1))
        else:
            delta, position = decode_varint64(data, position)
            timestamp = base_timestamp + delta
        delta = data[position]
        if delta < 0x80:
            position += 1
            delta = (delta >> 1) ^ -(delta & 1)
        else:
            delta, position = decode_varint32(data, position)
        if not previous < delta <= last_delta:
            raise invalid(f"offset delta {delta} after {previous}, with the last at {last_delta}")
        previous = delta

        key_length = data[position]
        if key_length < 0x80:
            position += 1
            key_length = (key_length >> 1) ^ -(key_length & 1)
        else:
            key_length, position = decode_varint32(data, position)
        key = position
        if key_length > 0:
            position += key_length
            if position > record_end:
                raise invalid(f"a key of {key_length} bytes with {record_end - key} left")

        value_length = data[position]
        if value_length < 0x80:
            position += 1
            value_length = (value_length >> 1) ^ -(value_length & 1)
        else:
            value_length, position = decode_varint32(data, position)
        value = position
        if value_length > 0:
            position += value_length
            if position > record_end:
                raise invalid(f"a value of {value_length} bytes with {record_end - value} left")

        headers = position
        if data[position] == 0:
            position += 1
        else:
            position = _pass_headers(data, position, record_end)
        if position != record_end:
            raise invalid(f"a record ends at byte {position} instead of {record_end}")
        if append_time is not None:
            timestamp = append_time
        elif not LOWEST_TIMESTAMP <= timestamp < TIMESTAMP_LIMIT:
            raise invalid(f"timestamp {timestamp} does not fit 64 bits")
        yield (
            base_offset + delta,
            timestamp,
            key,
            key_length if key_length >= 0 else -1,
            value,
            value_length if value_length >= 0 else -1,
            headers,
            record_end - headers,
        )
    if position != end:
        raise invalid(f"{end - position} bytes follow the last record")


def _pass_headers(data: bytes, position: int, end: int) -> int:
    count, position = decode_varint32(data, position)
    if not 0 <= count <= (end - position) // 2:
        raise invalid(f"{end - position} bytes cannot hold {count} headers")
    for _ in range(count):
        length, position = decode_varint32(data, position)
        if not 0 <= length <= end - position:
            raise invalid(f"a header name of {length} bytes with {end - position} left")
        length, position = decode_varint32(data, position + length)
        if length > 0:
            position += length
        if position > end:
            raise invalid(f"a header value of {length} bytes ends outside its record")
    return position
