"""Which partition of an internal topic looks after a key: as every Kafka broker answers."""

from __future__ import annotations

from functools import lru_cache

#: Groups and transactional ids whose place is remembered: they come back with every commit.
_REMEMBERED = 4096


def java_hash(text: str) -> int:
    """Java's `String.hashCode`, on UTF-16 units, as a signed 32-bit number."""
    value = 0
    units = text.encode("utf-16-be")
    for index in range(0, len(units), 2):
        value = (value * 31 + (units[index] << 8 | units[index + 1])) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


@lru_cache(_REMEMBERED)
def partition_for(key: str, partition_count: int) -> int:
    """Kafka's choice: the hash without its sign bit, modulo the number of partitions."""
    return (java_hash(key) & 0x7FFFFFFF) % partition_count
