"""Numbers and text of Avro's binary encoding, compiled into the kernels that use them.

Compiled code checks no bounds by itself: every read is preceded by a comparison with the end of
what it may read.
"""

from typing import Any

import numpy as np

from headrace.records.compiling import compiled

_LONG_BYTES = 63


@compiled
def varint(data: Any, position: int, end: int) -> Any:
    """A zigzag number and the position behind it; -1: the data ends, -2: too many bytes."""
    number = np.int64(0)
    shift = 0
    while position < end:
        byte = np.int64(data[position])
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (number >> 1 & 0x7FFF_FFFF_FFFF_FFFF) ^ -(number & 1), position
        shift += 7
        if shift > _LONG_BYTES:
            return number, -2
    return number, -1


@compiled
def copy_content(source: Any, start: int, length: int, target: Any, at: int) -> None:
    """Copy bytes that were checked before."""
    for index in range(length):
        target[at + index] = source[start + index]


@compiled
def is_utf8(data: Any, start: int, end: int) -> bool:
    """As Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF."""
    at = start
    while at < end:
        first = data[at]
        at += 1
        if first < 0x80:
            continue
        if first < 0xC2 or first > 0xF4:
            return False
        more = 1 + (first >= 0xE0) + (first >= 0xF0)
        if more > end - at:
            return False
        second = data[at]
        low = 0xA0 if first == 0xE0 else 0x90 if first == 0xF0 else 0x80
        high = 0x9F if first == 0xED else 0x8F if first == 0xF4 else 0xBF
        if second < low or second > high:
            return False
        for index in range(1, more):
            if data[at + index] & 0xC0 != 0x80:
                return False
        at += more
    return True


@compiled
def decimal_halves(data: Any, start: int, length: int) -> Any:
    """A big-endian two's complement as two halves of 64 bits; the last says whether it fits."""
    high, low = np.int64(0), np.int64(0)
    if length == 0:
        return high, low, True
    negative = data[start] >= 0x80
    if negative:
        high, low = np.int64(-1), np.int64(-1)
    extra = np.uint8(0xFF) if negative else np.uint8(0)
    for index in range(length - 16):
        if data[start + index] != extra:
            return high, low, False
    for index in range(max(length - 16, 0), length):
        high = (high << 8) | ((low >> 56) & 0xFF)
        low = (low << 8) | np.int64(data[start + index])
    return high, low, (high < 0) == negative


@compiled
def has_digits(high: Any, low: Any, limit_high: Any, limit_low: Any) -> bool:
    """Whether -limit < value < limit, for a limit above 0."""
    if high < 0:
        low = -low
        high = ~high + (1 if low == 0 else 0)
        if high < 0:
            return False
    if high != limit_high:
        return bool(high < limit_high)
    smallest = np.int64(-(2**63))
    return bool((low ^ smallest) < (limit_low ^ smallest))
