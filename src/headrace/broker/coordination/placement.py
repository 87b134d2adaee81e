"""Which partition of an internal topic looks after a key: as every Kafka broker answers."""

from __future__ import annotations

#: Of this number Java has no absolute value.
_LOWEST = -(1 << 31)


def java_hash(text: str) -> int:
    """Java's `String.hashCode`, on UTF-16 units, as a signed 32-bit number."""
    value = 0
    units = text.encode("utf-16-be")
    for index in range(0, len(units), 2):
        value = (value * 31 + (units[index] << 8 | units[index + 1])) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def partition_for(key: str, partition_count: int) -> int:
    """Kafka's choice: the hash without its sign (0 for the lowest), modulo the partitions."""
    value = java_hash(key)
    return 0 if value == _LOWEST else abs(value) % partition_count
