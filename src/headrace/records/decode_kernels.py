"""The walk over records that Numba compiles for `records.columns_numba`.

Compiled code checks no bounds by itself: every read here is preceded by a comparison with the end
of what it may read, and `records.walk` states the rules that both walkers keep.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.records.compiling import compiled

_SMALLEST_RECORD = 7
_MALFORMED = -1


def _varint(data: Any, position: int, end: int, last_shift: int) -> tuple[Any, int]:
    """The bits of a number before `end`, and the position behind it (-1: malformed).

    Kept so small, and free of unsigned types, that the compiler puts it in line: a call per number
    made the walk seven times slower.
    """
    number = np.int64(0)
    shift = 0
    while position < end and shift <= last_shift:
        byte = np.int64(data[position])
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, position
        shift += 7
    return number, _MALFORMED


varint = compiled(_varint)


def _varint32(data: Any, position: int, end: int) -> tuple[Any, int]:
    number, position = varint(data, position, end, 28)
    return (number >> 1 & 0x7FFF_FFFF) ^ -(number & 1), position


def _varint64(data: Any, position: int, end: int) -> tuple[Any, int]:
    number, position = varint(data, position, end, 63)
    return (number >> 1 & 0x7FFF_FFFF_FFFF_FFFF) ^ -(number & 1), position


varint32 = compiled(_varint32)
varint64 = compiled(_varint64)


def _pass_field(data: Any, position: int, end: int) -> tuple[Any, int]:
    """Length of a nullable field (-1: null), and where its bytes begin (-1: malformed)."""
    length, position = varint32(data, position, end)
    if position < 0 or length > end - position:
        return np.int64(0), _MALFORMED
    return max(length, np.int64(-1)), position


pass_field = compiled(_pass_field)


def _pass_headers(data: Any, position: int, end: int) -> int:
    count, position = varint32(data, position, end)
    if position < 0 or count < 0 or count > (end - position) // 2:
        return _MALFORMED
    for _ in range(count):
        length, position = pass_field(data, position, end)
        if position < 0 or length < 0:
            return _MALFORMED
        length, position = pass_field(data, position + length, end)
        if position < 0:
            return _MALFORMED
        position += max(length, 0)
    return position


pass_headers = compiled(_pass_headers)


def _walk_span(
    data: Any,
    span: Any,
    start_offset: int,
    end_offset: int,
    offsets: Any,
    timestamps: Any,
    places: Any,
    row: int,
) -> int:
    """Write the rows of one batch from `row` on; return the row behind the last, or -1."""
    position, end, count, base_offset, last_delta, base_timestamp, append_time = span
    if position < 0 or end > len(data) or count * _SMALLEST_RECORD > end - position:
        return _MALFORMED
    previous = np.int64(-1)
    for _ in range(count):
        length, position = varint32(data, position, end)
        if position < 0 or length < _SMALLEST_RECORD - 1 or length > end - position:
            return _MALFORMED
        record_end = position + length
        timestamp_delta, position = varint64(data, position + 1, record_end)
        if position < 0:
            return _MALFORMED
        offset_delta, position = varint32(data, position, record_end)
        if position < 0 or offset_delta <= previous or offset_delta > last_delta:
            return _MALFORMED
        previous = offset_delta
        key_length, key = pass_field(data, position, record_end)
        if key < 0:
            return _MALFORMED
        value_length, value = pass_field(data, key + max(key_length, 0), record_end)
        if value < 0:
            return _MALFORMED
        headers = value + max(value_length, 0)
        position = pass_headers(data, headers, record_end)
        if position != record_end:
            return _MALFORMED
        timestamp = base_timestamp
        if append_time == 0:
            timestamp += timestamp_delta
            # The sum of two numbers of one sign has that sign, unless it overflowed.
            if (timestamp ^ base_timestamp) & (timestamp ^ timestamp_delta) < 0:
                return _MALFORMED
        offset = base_offset + offset_delta
        if start_offset <= offset < end_offset:
            offsets[row] = offset
            timestamps[row] = timestamp
            places[0, row] = key
            places[1, row] = key_length
            places[2, row] = value
            places[3, row] = value_length
            places[4, row] = headers
            places[5, row] = record_end - headers
            row += 1
    return row if position == end else _MALFORMED


walk_span = compiled(_walk_span)


def _walk_spans(
    data: Any,
    spans: Any,
    start_offset: int,
    end_offset: int,
    offsets: Any,
    timestamps: Any,
    places: Any,
    rows_after: Any,
) -> int:
    """Walk all batches; return the first malformed one, or -1. `rows_after[i + 1]` ends batch i."""
    row = 0
    for index in range(len(spans)):
        row = walk_span(
            data, spans[index], start_offset, end_offset, offsets, timestamps, places, row
        )
        if row < 0:
            return index
        rows_after[index + 1] = row
    return -1


walk_spans: Callable[..., int] = compiled(_walk_spans)
