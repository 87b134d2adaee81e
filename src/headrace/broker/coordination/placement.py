"""Which partition of an internal topic looks after a key: as every Kafka broker answers."""

from __future__ import annotations

#: Of this number Java has no absolute value.
_LOWEST = -(1 << 31)
_MODULUS = 1 << 32
#: Bytes that are hashed at a time. A key may have 32 KB, and there may be thousands in a request;
#: so not every character is a step of Python, but all of a block are worked on in one number.
_BLOCK = 8192


def _low_parts(bits: int) -> int:
    """A mask for a block: of each field of twice so many bits, the lower ones."""
    size = bits // 8
    return int.from_bytes((bytes(size) + b"\xff" * size) * (_BLOCK // (2 * size)), "big")


_LOW_PARTS = {bits: _low_parts(bits) for bits in (8, 16, 32)}


def java_hash(text: str) -> int:
    """Java's `String.hashCode`, on UTF-16 units, as a signed 32-bit number.

    The units are the digits of a number to the base 31, of which the lowest 32 bits count.
    """
    if text.isascii():
        units, bits = text.encode("ascii"), 8
    else:
        units, bits = text.encode("utf-16-be", "surrogatepass"), 16
    value = 0
    for start in range(0, len(units), _BLOCK):
        block = units[start : start + _BLOCK]
        shift = pow(31, len(block) * 8 // bits, _MODULUS)
        value = (value * shift + _block_hash(block, bits)) % _MODULUS
    return value - _MODULUS if value >= 1 << 31 else value


def _block_hash(block: bytes, bits: int) -> int:
    """`value` has a field of so many bits for each digit; then for two of them, for four, ..."""
    value, base = int.from_bytes(block, "big"), 31
    while bits < 64:
        low_parts = _LOW_PARTS[bits]
        value = ((value >> bits) & low_parts) * base + (value & low_parts)
        base *= base
        bits *= 2
    # Wider fields would only grow; from here on the upper half is added to the lower one.
    value &= _LOW_PARTS[32]
    count = -(-len(block) // 8)
    while count > 1:
        half = count // 2
        lower = value & ((1 << half * 64) - 1)
        upper = value >> half * 64
        value = (upper * pow(base, half, _MODULUS) + lower) & _LOW_PARTS[32]
        count -= half
    return value


def partition_for(key: str, partition_count: int) -> int:
    """Kafka's choice: the hash without its sign (0 for the lowest), modulo the partitions."""
    value = java_hash(key)
    return 0 if value == _LOWEST else abs(value) % partition_count
