"""The loops that take records' headers apart, compiled by Numba for `records.columns_arrow`.

The walk over the records has checked that headers are well formed and lie within their record.
"""

from collections.abc import Callable
from typing import Any

from headrace.records.compiling import compiled
from headrace.records.decode_kernels import pass_field, varint32


def _count_headers(data: Any, positions: Any, lengths: Any, ends: Any) -> int:
    """Fill in how many headers there are up to and with each row; return how many in all."""
    total = 0
    for row in range(len(positions)):
        if lengths[row] > 0:
            count, _ = varint32(data, positions[row], positions[row] + lengths[row])
            total += count
        ends[row] = total
    return total


def _split_headers(data: Any, positions: Any, lengths: Any, places: Any) -> None:
    """Where each header's name and value lie: position and length of both."""
    entry = 0
    for row in range(len(positions)):
        if lengths[row] <= 0:
            continue
        end = positions[row] + lengths[row]
        count, position = varint32(data, positions[row], end)
        for _ in range(count):
            length, position = pass_field(data, position, end)
            places[0, entry] = position
            places[1, entry] = length
            length, position = pass_field(data, position + length, end)
            places[2, entry] = position
            places[3, entry] = length
            position += max(length, 0)
            entry += 1


count_headers: Callable[..., int] = compiled(_count_headers)
split_headers: Callable[..., None] = compiled(_split_headers)
