"""Offsets by time."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.base.errors import ErrorCode, KafkaError
from headrace.log import time_lookup
from headrace.log.partition_log import PartitionLog
from headrace.log.time_lookup import SMALL_BYTES, TimestampOffset, open_candidate
from headrace.records.batch import MAX_TIMESTAMP_POSITION, stamp_crc
from headrace.records.builder import build_batch
from headrace.records.codecs import Codec
from headrace.records.record import Record
from tests.unit.log.samples import (
    NOW,
    append,
    batch,
    first_since,
    kill,
    new_log,
    newest_record,
    reload,
)


def _found(log: PartitionLog, timestamp: int) -> tuple[int, int] | None:
    found = first_since(log, timestamp)
    return None if found is None else (found.timestamp, found.offset)


def test_the_record_inside_the_batch_is_found(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(10, timestamp=NOW), leader_epoch=3)
    append(log, batch(10, timestamp=NOW + 100), leader_epoch=4)
    assert first_since(log, NOW + 5) == (NOW + 5, 5, 3)
    assert first_since(log, NOW + 50) == (NOW + 100, 10, 4)
    assert first_since(log, 0) == (NOW, 0, 3)
    assert first_since(log, NOW + 110) is None


def test_nothing_before_the_log_start_is_found(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=400)
    append(log, batch(5, timestamp=NOW + 100))
    append(log, batch(5, timestamp=NOW + 50))
    append(log, batch(5, timestamp=NOW + 200))
    log.delete_records_before(3)
    assert _found(log, NOW) == (NOW + 103, 3)
    log.delete_records_before(5)
    assert _found(log, NOW + 101) == (NOW + 200, 10)


def test_an_empty_log_has_no_times(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    assert first_since(log, 0) is None
    assert newest_record(log) is None


def test_records_without_a_time_are_not_found(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(1, timestamp=-1))
    assert first_since(log, 0) is None
    assert newest_record(log) is None


def test_the_first_record_with_the_largest_time_is_found(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=600)
    append(log, batch(3, timestamp=NOW), leader_epoch=1)
    append(log, batch(3, timestamp=NOW + 50), leader_epoch=1)
    append(log, batch(3, timestamp=NOW + 10), leader_epoch=1)
    append(log, batch(3, timestamp=NOW + 50), leader_epoch=1)
    assert newest_record(log) == (NOW + 52, 5, 1)


def test_a_batch_that_cannot_be_opened_stands_for_its_first_record(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    data = batch(3, timestamp=NOW)
    data[-1] ^= 0xFF
    append(log, data)
    assert first_since(log, NOW + 1) == (NOW + 2, 0, 0)


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 3)), min_size=1, max_size=25),
    st.sampled_from([0, 150, 4096]),
    st.sampled_from([400, 2000, 1 << 20]),
    st.sampled_from(["open", "closed", "killed"]),
)
@settings(max_examples=60, deadline=None)
def test_every_lookup_agrees_with_a_list_of_records(
    tmp_path_factory: pytest.TempPathFactory,
    batches: list[tuple[int, int]],
    interval: int,
    segment_bytes: int,
    state: str,
) -> None:
    log = new_log(
        tmp_path_factory.mktemp("log"), index_interval_bytes=interval, segment_bytes=segment_bytes
    )
    records: list[tuple[int, int]] = []
    for timestamp, count in batches:
        append(log, batch(count, timestamp=timestamp))
        records += [(timestamp + n, len(records) + n) for n in range(count)]
    if state != "open":
        log.close(clean=state == "closed")
        log = reload(log, clean=state == "closed")
    for target in range(-1, 45):
        expected = next((record for record in records if record[0] >= target), None)
        assert _found(log, target) == expected
    largest = max(timestamp for timestamp, _ in records)
    newest = newest_record(log)
    assert newest is not None
    assert newest.timestamp == largest
    assert (largest, newest.offset) in records
    kill(log)


# Step by step


def claiming(data: bytearray, timestamp: int) -> bytearray:
    """A batch whose header says that it is as new as that."""
    data[MAX_TIMESTAMP_POSITION : MAX_TIMESTAMP_POSITION + 8] = timestamp.to_bytes(8, "big")
    stamp_crc(data, 0, len(data))
    return data


def steps(log: PartitionLog, timestamp: int) -> list[tuple[bool, TimestampOffset | None]]:
    """Of each step of a search, whether it brought a batch, and what was found in that."""
    found: list[tuple[bool, TimestampOffset | None]] = []
    candidate = log.next_candidate(timestamp)
    while candidate is not None and (not found or found[-1][1] is None):
        found.append((candidate.data != b"", open_candidate(candidate)))
        assert candidate.next_offset is not None
        candidate = log.next_candidate(timestamp, candidate.next_offset)
    return found


def test_a_batch_that_is_older_than_it_says_is_passed(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=300)
    append(log, claiming(batch(3, timestamp=NOW), NOW + 100))
    append(log, claiming(batch(3, timestamp=NOW), NOW + 100))
    append(log, batch(3, timestamp=NOW + 50))
    assert len(log.segments) > 1
    assert steps(log, NOW + 51) == [(True, None), (True, None), (True, (NOW + 51, 7, 0))]
    assert _found(log, NOW + 51) == (NOW + 51, 7)
    assert _found(log, NOW + 99) is None
    assert newest_record(log) is None


def test_many_headers_are_read_in_several_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_lookup, "_HEADERS_AT_ONCE", 4)
    log = new_log(tmp_path)
    append(log, batch(1, timestamp=NOW + 50))
    for _ in range(10):
        append(log, batch(1, timestamp=NOW))
    append(log, batch(1, timestamp=NOW + 100))
    assert steps(log, NOW + 60) == [(False, None), (False, None), (True, (NOW + 100, 11, 0))]
    assert _found(log, NOW + 60) == (NOW + 100, 11)


def test_a_batch_is_small_if_it_has_few_bytes_and_few_records(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    sizes = {0: batch(100), 100: batch(1, value=bytes(SMALL_BYTES)), 101: batch(5_000)}
    for data in sizes.values():
        append(log, data)
    found = {offset: log.next_candidate(0, offset) for offset in sizes}
    assert [one is not None and one.is_small for one in found.values()] == [True, False, False]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_batch_that_only_looks_small_says_so_when_it_is_opened(
    tmp_path: Path, codec: Codec
) -> None:
    log = new_log(tmp_path)
    append(log, build_batch([Record(0, NOW, None, bytes(1 << 20))], codec=codec))
    candidate = log.next_candidate(NOW)
    assert candidate is not None
    assert candidate.is_small
    with pytest.raises(KafkaError) as caught:
        open_candidate(candidate, SMALL_BYTES)
    assert caught.value.code is ErrorCode.MESSAGE_TOO_LARGE
    assert open_candidate(candidate) == (NOW, 0, 0)


def test_a_lookup_ends_at_the_record_that_it_finds(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    data = batch(3, timestamp=NOW)
    data[-1] ^= 0xFF  # the count of the last record's headers
    stamp_crc(data, 0, len(data))
    append(log, data)
    assert first_since(log, NOW + 1) == (NOW + 1, 1, 0)
