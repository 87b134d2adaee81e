"""Where a key belongs: as Kafka answers, whatever the key."""

import sys
from collections import Counter
from random import Random
from types import FrameType
from typing import Any

import pytest

from headrace.broker.coordination.placement import java_hash, partition_for


@pytest.mark.parametrize(
    ("key", "partition"),
    [
        ("", 0),
        ("test-group", 12),
        ("my-group", 12),  # its hash is negative
        ("orders", 31),  # as this one's
        ("polygenelubricants", 0),  # the lowest number of all
        ("\U0001f600", 49),  # two units of UTF-16
    ],
)
def test_a_key_belongs_where_javas_hash_puts_it(key: str, partition: int) -> None:
    assert partition_for(key, 50) == partition


def by_the_definition(text: str) -> int:
    """s[0]*31^(n-1) + s[1]*31^(n-2) + ... + s[n-1], as a Java int."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for index in range(0, len(units), 2):
        value = value * 31 + int.from_bytes(units[index : index + 2], "big")
    value %= 1 << 32
    return value - (1 << 32) if value >= 1 << 31 else value


@pytest.mark.parametrize(
    "characters", ["ab\0\x7f", "aé\xff", "\uffff", "z\U0001f600\U0010ffff\ud800"]
)
@pytest.mark.parametrize(
    "length", [1, 2, 3, 7, 8, 9, 31, 64, 255, 1000, 4095, 4096, 4097, 8191, 8192, 8193, 20_000]
)
def test_a_hash_is_that_of_its_definition_at_any_length(characters: str, length: int) -> None:
    chance = Random(length)
    text = "".join(chance.choices(characters, k=length))
    assert java_hash(text) == by_the_definition(text)


def test_the_characters_of_a_long_key_are_no_steps_of_python() -> None:
    lines: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: Any) -> Any:
        lines[event] += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        java_hash("x" * 32_767)
    finally:
        sys.settrace(before)
    assert 0 < lines["line"] < 1_000
