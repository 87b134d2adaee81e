"""The short way through plain batches finds what the walk over all records finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headrace.broker.coordination.gathering import Latest, gather, gather_small
from headrace.broker.coordination.pairs import Pair, encode_pairs, encoded_batch
from headrace.records.batch import iter_headers, stamp_crc
from headrace.records.builder import build_batch
from headrace.records.reader import read_records
from headrace.records.record import Record

KEYS = st.binary(max_size=3) | st.binary(min_size=60, max_size=70) | st.binary(min_size=9_000)
VALUES = st.none() | st.binary(max_size=3) | st.binary(min_size=60, max_size=200)
PAIRS = st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=80)


def pairs_batch(pairs: Sequence[Pair], timestamp_ms: int, **more: Any) -> bytearray:
    return encoded_batch(encode_pairs(pairs), len(pairs), timestamp_ms, **more)


def slowly(data: bytes) -> Latest:
    latest: Latest = {}
    for position, header in iter_headers(data):
        gather(latest, data, position, header)
    return latest


@given(st.lists(PAIRS, min_size=1, max_size=4))
def test_both_ways_keep_the_same_values_in_the_same_order(
    batches: list[list[tuple[bytes, bytes | None]]],
) -> None:
    data = b"".join(bytes(pairs_batch(pairs, 1_000)) for pairs in batches)
    latest: Latest = {}
    position = 0
    while position < len(data):
        position, _ = gather_small(latest, data, position, 0)
        for at, header in iter_headers(data, position):
            gather(latest, data, at, header)
            position = at + header.size
            break
    assert list(latest.items()) == list(slowly(data).items())


@given(PAIRS, st.sampled_from([0, 1, 2, 3, 4]))
def test_batches_of_pairs_are_those_of_the_general_builder(
    pairs: list[tuple[bytes, bytes | None]], codec: int
) -> None:
    records = [Record(at, 1_000, key, value, []) for at, (key, value) in enumerate(pairs)]
    batch = pairs_batch(pairs, 1_000, codec=codec, producer_id=7, producer_epoch=1)
    assert list(read_records(batch)) == records
    assert batch == build_batch(records, codec=codec, producer_id=7, producer_epoch=1)


@given(st.data())
def test_the_short_way_never_fails_on_bad_records_whose_checksum_is_right(
    data: st.DataObject,
) -> None:
    batch = pairs_batch([(b"key", b"value"), (b"k", None)], 1_000)
    for _ in range(data.draw(st.integers(1, 4))):
        batch[data.draw(st.integers(61, len(batch) - 1))] = data.draw(st.integers(0, 255))
    stamp_crc(batch, 0, len(batch))
    position, _ = gather_small({}, bytes(batch), 0, 0)
    assert position in (0, len(batch))


def test_what_is_not_plain_is_left_to_others() -> None:
    plain = bytes(pairs_batch([(b"a", b"1")], 1_000))
    torn = bytearray(plain)
    torn[-1] ^= 1
    others = [
        bytes(torn),
        bytes(pairs_batch([(b"a", b"2")], 1_000, producer_id=7, transactional=True)),
        bytes(pairs_batch([(b"a", b"2")], 1_000, codec=1)),
        plain[:-1],
    ]
    for other in others:
        latest: Latest = {}
        assert gather_small(latest, plain + other, 0, 5) == (len(plain), 1)
        assert latest[b"a"] == b"1"
