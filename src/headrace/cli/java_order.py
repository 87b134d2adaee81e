"""The order in which Kafka's tools print what they hold in a Java `HashMap`.

It looks arbitrary, but it is the same in every run, and scripts and documents have it in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

K = TypeVar("K")


def hash_code(text: str) -> int:
    """Java's `String.hashCode`, as an unsigned number."""
    code = 0
    units = text.encode("utf-16-be")
    for position in range(0, len(units), 2):
        code = (code * 31 + (units[position] << 8 | units[position + 1])) & 0xFFFFFFFF
    return code


def hash_order(names: Iterable[str], *, capacity: int | None = None) -> list[str]:
    """The names in the order of a `HashMap` that they were put into one by one.

    `capacity` is the number that the map was constructed with; without one it starts at 16.
    """
    return _in_buckets(names, hash_code, capacity)


def partition_order(
    partitions: Iterable[tuple[str, int]], *, capacity: int | None = None
) -> list[tuple[str, int]]:
    """Likewise for a map whose keys are Kafka's `TopicPartition`."""

    def code(partition: tuple[str, int]) -> int:
        topic, index = partition
        return (31 * (31 + index) + hash_code(topic)) & 0xFFFFFFFF

    return _in_buckets(partitions, code, capacity)


def _in_buckets(keys: Iterable[K], code: Callable[[K], int], capacity: int | None) -> list[K]:
    ordered = list(dict.fromkeys(keys))
    size = 16 if capacity is None else 1
    while capacity is not None and size < capacity:
        size *= 2
    while len(ordered) > size * 3 // 4:
        size *= 2

    def bucket(key: K) -> int:
        value = code(key)
        return (value ^ (value >> 16)) & (size - 1)

    return sorted(ordered, key=bucket)
