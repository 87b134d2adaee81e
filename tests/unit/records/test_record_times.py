from random import Random

import pytest
from hypothesis import given

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records.batch import HEADER_SIZE, BatchHeader
from headrace.records.builder import build_batch
from headrace.records.record import Record
from headrace.records.record_times import iter_times
from headrace.records.walk import walk
from tests.unit.records.samples import record_lists, some_records


def times_of(batch: bytearray) -> list[tuple[int, int]]:
    return list(iter_times(bytes(batch[HEADER_SIZE:]), BatchHeader(batch)))


@given(record_lists(base_offset=70, gaps=True))
def test_each_record_has_its_offset_and_its_time(records: list[Record]) -> None:
    batch = build_batch(records, base_offset=70)
    assert times_of(batch) == [(record.offset, record.timestamp) for record in records]


def test_records_of_a_batch_with_append_time_all_have_that() -> None:
    batch = build_batch(some_records(3), append_time=77)
    assert times_of(batch) == [(0, 77), (1, 77), (2, 77)]


def test_nothing_behind_the_record_that_was_looked_for_is_read() -> None:
    batch = build_batch(some_records(3))
    data = bytes(batch[HEADER_SIZE:-20]) + b"\xff" * 20
    times = iter_times(data, BatchHeader(batch))
    assert next(times) == (0, some_records(1)[0].timestamp)
    with pytest.raises(KafkaError) as caught:
        list(times)
    assert caught.value.code is ErrorCode.INVALID_RECORD


def test_what_the_walk_accepts_has_the_same_times_and_nothing_else_breaks_it() -> None:
    chance = Random("times")
    source = build_batch(some_records(5))
    for _ in range(10_000):
        batch = bytearray(source)
        for _ in range(chance.randint(1, 3)):
            position = chance.randrange(23, len(batch))
            batch[position] = chance.choice((0, 1, 2, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        header, data = BatchHeader(batch), bytes(batch[HEADER_SIZE:])
        header.record_count &= 0xFF
        try:
            found = list(iter_times(data, header))
        except KafkaError:
            with pytest.raises(KafkaError):
                walk(data, 0, len(data), header)
            continue
        try:
            rows = walk(data, 0, len(data), header)
        except KafkaError:
            continue  # keys, values and headers are not looked at
        assert found == [row[:2] for row in rows]
