"""The order in which Kafka's tools print what they hold in a Java `HashMap`.

It looks arbitrary, but it is the same in every run, and scripts and documents have it in them.
"""

from __future__ import annotations

from collections.abc import Iterable


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
    ordered = list(dict.fromkeys(names))
    size = 16 if capacity is None else 1
    while capacity is not None and size < capacity:
        size *= 2
    while len(ordered) > size * 3 // 4:
        size *= 2
    return sorted(ordered, key=lambda name: _bucket(hash_code(name), size))


def _bucket(code: int, size: int) -> int:
    return (code ^ (code >> 16)) & (size - 1)
