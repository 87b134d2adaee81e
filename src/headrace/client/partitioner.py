"""Kafka's default partitioning: the murmur2 hash of the key, so that every client agrees."""

from __future__ import annotations

from struct import Struct

_SEED = 0x9747B28C
_MULTIPLIER = 0x5BD1E995
_MASK = 0xFFFFFFFF
_word = Struct("<I").unpack_from


def murmur2(data: bytes) -> int:
    """The 32-bit hash of the Java client, as an unsigned number."""
    length = len(data)
    value = _SEED ^ length
    whole = length & ~3
    for position in range(0, whole, 4):
        word = (_word(data, position)[0] * _MULTIPLIER) & _MASK
        word ^= word >> 24
        value = ((value * _MULTIPLIER) & _MASK) ^ ((word * _MULTIPLIER) & _MASK)
    tail = data[whole:]
    if tail:
        value ^= int.from_bytes(tail, "little")
        value = (value * _MULTIPLIER) & _MASK
    value ^= value >> 13
    value = (value * _MULTIPLIER) & _MASK
    return value ^ (value >> 15)


def partition_for_key(key: bytes, partitions: int) -> int:
    """The partition that Kafka's clients choose for a key."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
