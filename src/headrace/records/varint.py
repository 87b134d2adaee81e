"""The numbers inside a record: zigzag, then seven bits a byte, lowest first.

As in Java, bits beyond the width of the type are dropped, and a number that takes more bytes than
its type can need is an error.
"""

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records.batch import Buffer


def _encode(number: int) -> bytes:
    rest = number << 1 if number >= 0 else (-number << 1) - 1
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


# Lengths and deltas are mostly small: a table turns their encoding into one lookup.
_SMALL_LIMIT = 2048
_SMALL = [_encode(number) for number in range(_SMALL_LIMIT)]


def encode_varint(number: int) -> bytes:
    """Encode a signed number of up to 64 bits."""
    return _SMALL[number] if 0 <= number < _SMALL_LIMIT else _encode(number)


def decode_varint32(data: Buffer, position: int) -> tuple[int, int]:
    """Decode a signed 32-bit number; return it and the position behind it."""
    number = data[position]
    if number < 0x80:
        return (number >> 1) ^ -(number & 1), position + 1
    byte = data[position + 1]
    if byte < 0x80:
        return (number >> 1 & 0x3F | byte << 6) ^ -(number & 1), position + 2
    return _decode(data, position, 28, 0xFFFF_FFFF)


def decode_varint64(data: Buffer, position: int) -> tuple[int, int]:
    """Decode a signed 64-bit number; return it and the position behind it."""
    return _decode(data, position, 63, 0xFFFF_FFFF_FFFF_FFFF)


def _decode(data: Buffer, position: int, last_shift: int, mask: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            number &= mask
            return (number >> 1) ^ -(number & 1), position
        if shift == last_shift:
            raise KafkaError(ErrorCode.INVALID_RECORD, "A number in a record has too many bytes.")
        shift += 7
