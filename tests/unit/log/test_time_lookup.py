"""Offsets by time."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.base.errors import ErrorCode, KafkaError
from headrace.log import time_search
from headrace.log.partition_log import PartitionLog
from headrace.log.scan import scan_headers
from headrace.log.segment import Segment
from headrace.log.time_lookup import SMALL_BYTES, Candidate, TimestampOffset, open_candidate
from headrace.log.time_search import NewestSearch, Search, TimeSearch
from headrace.records.batch import MAX_TIMESTAMP_POSITION, BatchHeader, stamp_crc
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
    replace_segments,
    searched,
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
    search = TimeSearch(timestamp)
    while not found or found[-1][1] is None:
        candidate = log.next_candidate(search)
        if candidate is None:
            break
        found.append((candidate.data != b"", open_candidate(candidate)))
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
    monkeypatch.setattr(time_search, "_HEADERS_AT_ONCE", 4)
    log = new_log(tmp_path)
    append(log, batch(1, timestamp=NOW + 50))
    for _ in range(10):
        append(log, batch(1, timestamp=NOW))
    append(log, batch(1, timestamp=NOW + 100))
    assert steps(log, NOW + 60) == [(False, None), (False, None), (True, (NOW + 100, 11, 0))]
    assert _found(log, NOW + 60) == (NOW + 100, 11)


def test_a_batch_is_small_if_it_has_few_bytes_and_few_records(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    for data in (batch(100), batch(1, value=bytes(SMALL_BYTES)), batch(5_000)):
        append(log, data)
    search = TimeSearch(0)
    found = [log.next_candidate(search) for _ in range(3)]
    assert [one is not None and one.is_small for one in found] == [True, False, False]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_batch_that_only_looks_small_says_so_when_it_is_opened(
    tmp_path: Path, codec: Codec
) -> None:
    log = new_log(tmp_path)
    append(log, build_batch([Record(0, NOW, None, bytes(1 << 20))], codec=codec))
    candidate = log.next_candidate(TimeSearch(NOW))
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


# Long ways


class Walk:
    """Counts the headers that searches read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.headers = 0
        monkeypatch.setattr(time_search, "scan_headers", self._counted)

    def _counted(self, fd: int, start: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
        for found in scan_headers(fd, start, end):
            self.headers += 1
            yield found

    def steps(self, log: PartitionLog, search: Search) -> tuple[list[int], Candidate | None]:
        """How many headers each step took, up to a batch or the end."""
        counts: list[int] = []
        while True:
            before = self.headers
            candidate = log.next_candidate(search)
            counts.append(self.headers - before)
            if candidate is None or candidate.data:
                return counts, candidate


def sparse_log(directory: Path, count: int, **configs: int) -> PartitionLog:
    """Old batches of one record and a new one at the end, and an index without entries."""
    log = new_log(directory, index_interval_bytes=(1 << 31) - 1, **configs)
    append(log, batch(1, timestamp=NOW + 50))
    for _ in range(count - 2):
        append(log, batch(1, timestamp=NOW))
    append(log, batch(1, timestamp=NOW + 100))
    return log


@pytest.mark.parametrize("search", [TimeSearch(NOW + 60), NewestSearch()])
def test_no_step_reads_more_headers_than_the_others_without_an_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, search: Search
) -> None:
    monkeypatch.setattr(time_search, "_HEADERS_AT_ONCE", 4)
    log = sparse_log(tmp_path, 30)
    counts, candidate = Walk(monkeypatch).steps(log, search)
    assert counts == [4] * 7 + [2]
    assert candidate is not None
    assert open_candidate(candidate) == (NOW + 100, 29, 0)


def test_headers_below_the_log_start_count_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_search, "_HEADERS_AT_ONCE", 4)
    log = sparse_log(tmp_path, 30)
    log.delete_records_before(25)
    counts, candidate = Walk(monkeypatch).steps(log, TimeSearch(NOW + 10))
    assert counts == [4] * 7 + [2]
    assert candidate is not None
    assert open_candidate(candidate) == (NOW + 100, 29, 0)


def test_few_segments_are_looked_at_in_one_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_search, "_SEGMENTS_AT_ONCE", 3)
    log = new_log(tmp_path, segment_bytes=len(batch(1)))
    for n in range(8):
        append(log, batch(1, timestamp=NOW + n))
    assert len(log.segments) == 8
    assert steps(log, NOW + 7) == [(False, None), (False, None), (True, (NOW + 7, 7, 0))]
    search = NewestSearch()
    looks = [log.next_candidate(search) for _ in range(3)]
    assert [one is not None and one.data != b"" for one in looks] == [False, False, True]
    assert newest_record(log) == (NOW + 7, 7, 0)


def test_the_newest_record_is_found_from_the_nearest_entry_of_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of the times may be far away, if most records are equally old."""
    log = new_log(tmp_path, index_interval_bytes=4 * len(batch(1)))
    for _ in range(53):
        append(log, batch(1, timestamp=NOW))
    append(log, batch(1, timestamp=NOW + 1))
    assert log.active.time_index.lookup(NOW + 1) == 0
    counts, _ = Walk(monkeypatch).steps(log, NewestSearch())
    assert sum(counts) < 10


# Logs that change between two steps


def begun(log: PartitionLog, monkeypatch: pytest.MonkeyPatch) -> TimeSearch:
    """A search for the new record at the end, of which four headers have been read."""
    monkeypatch.setattr(time_search, "_HEADERS_AT_ONCE", 4)
    search = TimeSearch(NOW + 60)
    candidate = log.next_candidate(search)
    assert candidate is not None
    assert candidate.data == b""
    return search


def test_a_search_goes_on_behind_segments_that_were_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = sparse_log(tmp_path, 10)
    search = begun(log, monkeypatch)
    log.roll(NOW)
    append(log, batch(2, timestamp=NOW + 200))
    log.delete_records_before(11)
    log.retain(NOW, log.log_end_offset)
    assert log.segments.base_offsets == [10]
    assert searched(log, search) == (NOW + 201, 11, 0)


def test_a_search_finds_its_place_in_a_segment_that_was_compacted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = sparse_log(tmp_path, 10)
    log.roll(NOW)
    search = begun(log, monkeypatch)
    cleaned = Segment.create(log.files, log.directory, 0, NOW, suffix=".cleaned")
    for offset, timestamp in ((1, NOW), (5, NOW), (9, NOW + 100)):
        data = log.read(offset, 1, end_offset=offset + 1)
        cleaned.note(cleaned.write(data), offset, timestamp, 4096)
    cleaned.finish()
    replace_segments(log, [cleaned], [log.segments[0]])
    assert searched(log, search) == (NOW + 100, 9, 0)


def test_a_search_finds_its_place_in_a_log_that_was_cut_and_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = sparse_log(tmp_path, 10)
    search = begun(log, monkeypatch)
    log.truncate_to(2, NOW)
    append(log, batch(3, timestamp=NOW + 70, value=b"of another size"))
    append(log, batch(1, timestamp=NOW + 100))
    assert searched(log, search) == (NOW + 72, 4, 0)


def test_a_search_goes_on_where_records_were_appended_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = new_log(tmp_path)
    for _ in range(4):
        append(log, batch(1, timestamp=NOW))
    append(log, claiming(batch(1, timestamp=NOW), NOW + 60))
    search = begun(log, monkeypatch)
    candidate = log.next_candidate(search)
    assert candidate is not None
    assert candidate.data != b""
    append(log, batch(1, timestamp=NOW + 100))
    assert searched(log, search) == (NOW + 100, 5, 0)
