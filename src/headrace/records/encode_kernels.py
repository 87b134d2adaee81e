"""The loops that write records, compiled by Numba for `records.columns_numba`.

Callers have checked that every row lies within its column's data.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace.records.compiling import compiled

_MALFORMED = -1
_WITHOUT_SIGN = (1 << 57) - 1  # makes a shift by seven a logical one


def _varint_size(number: Any) -> int:
    rest = (number << 1) ^ (number >> 63)
    size = 1
    while rest & ~0x7F:
        rest = rest >> 7 & _WITHOUT_SIGN
        size += 1
    return size


varint_size = compiled(_varint_size)


def _field_size(length: int) -> int:
    return int(varint_size(np.int64(max(length, -1)))) + max(length, 0)


field_size = compiled(_field_size)


def _measure_rows(
    offsets: Any, timestamps: Any, keys: Any, values: Any, headers: Any, sizes: Any
) -> int:
    """Fill in the size of each record's body; return the bytes of all records, or -1."""
    total = 0
    for row in range(len(offsets)):
        if row > 0 and offsets[row] <= offsets[row - 1]:
            return _MALFORMED
        size = (
            1
            + varint_size(timestamps[row] - timestamps[0])
            + varint_size(offsets[row] - offsets[0])
            + field_size(keys[row])
            + field_size(values[row])
            + max(headers[row], 1)
        )
        sizes[row] = size
        total += varint_size(np.int64(size)) + size
    return total


def _put_varint(out: Any, position: int, number: Any) -> int:
    rest = (number << 1) ^ (number >> 63)
    while rest & ~0x7F:
        out[position] = rest & 0x7F | 0x80
        rest = rest >> 7 & _WITHOUT_SIGN
        position += 1
    out[position] = rest
    return position + 1


put_varint = compiled(_put_varint)


def _copy(out: Any, position: int, data: Any, start: int, length: int) -> None:
    target, source = out[position : position + length], data[start : start + length]
    for index in range(length):
        target[index] = source[index]


copy = compiled(_copy)


def _put_field(out: Any, position: int, data: Any, start: int, length: int) -> int:
    position = put_varint(out, position, np.int64(max(length, -1)))
    if length > 0:
        copy(out, position, data, start, length)
    return position + max(length, 0)


put_field = compiled(_put_field)


def _encode_rows(
    offsets: Any,
    timestamps: Any,
    key_data: Any,
    keys: Any,
    key_lengths: Any,
    value_data: Any,
    values: Any,
    value_lengths: Any,
    header_data: Any,
    headers: Any,
    header_lengths: Any,
    sizes: Any,
    out: Any,
) -> None:
    """Write the records into `out`, which has the size that `measure_rows` gave."""
    position = 0
    for row in range(len(offsets)):
        position = put_varint(out, position, sizes[row])
        out[position] = 0  # attributes: none are defined for a record
        position = put_varint(out, position + 1, timestamps[row] - timestamps[0])
        position = put_varint(out, position, offsets[row] - offsets[0])
        position = put_field(out, position, key_data, keys[row], key_lengths[row])
        position = put_field(out, position, value_data, values[row], value_lengths[row])
        start, length = headers[row], header_lengths[row]
        if length < 1:
            out[position] = 0
            position += 1
        else:
            copy(out, position, header_data, start, length)
            position += length


def _pack_rows(data: Any, positions: Any, lengths: Any, offsets: Any, out: Any) -> None:
    for row in range(len(positions)):
        if lengths[row] > 0:
            copy(out, offsets[row], data, positions[row], lengths[row])


measure_rows: Callable[..., int] = compiled(_measure_rows)
encode_rows: Callable[..., None] = compiled(_encode_rows)
pack_rows: Callable[..., None] = compiled(_pack_rows)
