"""Numbers of a variable length, as Avro data and the paths to Protobuf messages have them."""

from __future__ import annotations


def read_zigzag(data: bytes, at: int, bytes_max: int) -> tuple[int, int] | None:
    """A number and where it ends; None if it does not, or takes more bytes than it may."""
    value = 0
    for shift in range(0, 7 * bytes_max, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
    return None
