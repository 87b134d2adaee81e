"""The hash by which every Kafka client finds a key's partition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.client.partitioner import murmur2, partition_for_key

# Values that the Java client computes, as signed 32-bit numbers.
KNOWN = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize(("key", "expected"), KNOWN.items())
def test_murmur2_is_the_java_clients(key: bytes, expected: int) -> None:
    assert murmur2(key) == expected & 0xFFFFFFFF


@given(st.binary(max_size=64), st.integers(1, 1000))
def test_a_partition_is_always_within_the_topic(key: bytes, partitions: int) -> None:
    assert 0 <= partition_for_key(key, partitions) < partitions


def test_librdkafka_agrees() -> None:
    """The values of librdkafka's own murmur2 test, which are Java's too."""
    assert murmur2(b"kafka") == 0xD067CF64
    assert murmur2(b"giberish123456789") == 0x8F552B0C
    assert murmur2(b"1234") == 0x9FC97B14
    assert murmur2(b"234") == 0xE7C009CA
    assert murmur2(b"34") == 0x873930DA
    assert murmur2(b"4") == 0x5A4B5CA1
    assert murmur2(b"PreAmbleWillBeRemoved,ThePrePartThatIs") == 0x78424F1C
    assert murmur2(b"") == 0x106E08D9
