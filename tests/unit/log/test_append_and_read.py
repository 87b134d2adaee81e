"""Appending and reading, against a plain list of batches."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.base.errors import ErrorCode, KafkaError
from headrace.log.append import AppendOrigin
from headrace.log.file_slice import FileSlice
from headrace.log.partition_log import PartitionLog
from headrace.records.batch import read_header
from headrace.records.reader import read_records
from tests.unit.log.samples import NOW, append, batch, everything, kill, new_log, reload, spans


def test_batches_get_consecutive_offsets_and_the_leader_epoch(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    first = append(log, batch(3), leader_epoch=4)
    second = append(log, batch(2), leader_epoch=4)
    assert (first.base_offset, first.last_offset, first.append_time_ms) == (0, 2, -1)
    assert (second.base_offset, second.last_offset) == (3, 4)
    assert log.log_end_offset == 5
    data = log.read(0, 1 << 20, end_offset=5)
    assert spans(data) == [(0, 2), (3, 4)]
    assert read_header(data).leader_epoch == 4
    assert [record.offset for record in read_records(data)] == [0, 1, 2, 3, 4]


def test_the_caller_may_reuse_the_buffer_after_an_append(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    buffer = batch(1, value=b"first")
    append(log, memoryview(buffer))  # type: ignore[arg-type]
    buffer[:] = bytes(len(buffer))
    assert [record.value for record in read_records(everything(log))] == [b"0 first"]


def test_a_read_from_the_middle_of_a_batch_starts_with_that_batch(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    for _ in range(3):
        append(log, batch(10))
    assert spans(log.read(14, 1 << 20, end_offset=30)) == [(10, 19), (20, 29)]


def test_a_batch_larger_than_the_limit_is_returned_whole_if_asked_for(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(5, value=b"x" * 1000))
    append(log, batch(5))
    assert spans(log.read(0, 10, end_offset=10)) == [(0, 4)]
    assert log.read(0, 10, end_offset=10, at_least_one=False) == b""
    assert log.read(0, 0, end_offset=10, at_least_one=False) == b""


def test_nothing_at_or_past_the_end_offset_is_returned(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    for _ in range(4):
        append(log, batch(10))
    assert spans(log.read(0, 1 << 20, end_offset=20)) == [(0, 9), (10, 19)]
    assert spans(log.read(0, 1 << 20, end_offset=25)) == [(0, 9), (10, 19)]
    assert log.read(20, 1 << 20, end_offset=25) == b""
    assert log.read(30, 1 << 20, end_offset=20) == b""
    assert log.read(40, 1 << 20, end_offset=40) == b""


@pytest.mark.parametrize("offset", [-1, 4, 11])
def test_an_offset_outside_the_log_is_refused(tmp_path: Path, offset: int) -> None:
    log = new_log(tmp_path)
    append(log, batch(10))
    log.delete_records_before(5)
    with pytest.raises(KafkaError) as caught:
        log.read(offset, 1 << 20, end_offset=10)
    assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_append_time_replaces_the_producers_times(tmp_path: Path) -> None:
    log = new_log(tmp_path, message_timestamp_type="LogAppendTime")
    result = append(log, batch(3, timestamp=5), now_ms=NOW + 9)
    assert result.append_time_ms == NOW + 9
    assert [record.timestamp for record in read_records(everything(log))] == [NOW + 9] * 3


def test_several_batches_of_a_coordinator_are_written_at_once(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(2))
    result = append(log, batch(3) + batch(4), origin=AppendOrigin.COORDINATOR, leader_epoch=1)
    assert (result.base_offset, result.last_offset) == (2, 8)
    assert spans(everything(log)) == [(0, 1), (2, 4), (5, 8)]


def test_a_follower_keeps_offsets_epochs_and_gaps(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    data = batch(2, base_offset=0, leader_epoch=1) + batch(3, base_offset=7, leader_epoch=2)
    result = log.append_as_follower(bytes(data) + b"partial", now_ms=NOW)
    assert (result.base_offset, result.last_offset) == (0, 9)
    assert everything(log) == data
    assert [tuple(entry) for entry in log.leader_epochs.entries] == [(1, 0), (2, 7)]
    assert spans(log.read(4, 1 << 20, end_offset=10)) == [(7, 9)]


def test_a_follower_refuses_offsets_it_already_has(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(5))
    with pytest.raises(KafkaError, match="less than the next offset 5"):
        log.append_as_follower(batch(2, base_offset=4, leader_epoch=0), now_ms=NOW)
    assert log.log_end_offset == 5


def test_more_than_a_segment_holds_is_refused(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=500)
    with pytest.raises(KafkaError) as caught:
        append(log, batch(1, value=b"x" * 500))
    assert caught.value.code is ErrorCode.RECORD_LIST_TOO_LARGE
    assert log.log_end_offset == 0


@pytest.mark.parametrize("lazy_from", [0, 1 << 62])
def test_a_read_says_where_the_next_one_goes_on(tmp_path: Path, lazy_from: int) -> None:
    log = new_log(tmp_path)
    for _ in range(4):
        append(log, batch(10))
    size = len(batch(10))
    log.roll(NOW)
    append(log, batch(10))

    def following(offset: int, max_bytes: int, end_offset: int = 50) -> int:
        read, end = log.read_or_slice(
            offset, max_bytes, end_offset=end_offset, at_least_one=True, lazy_from=lazy_from
        )
        assert isinstance(read, FileSlice) is (lazy_from == 0)
        return end

    for _ in range(2):  # the second time, places are remembered
        assert following(0, 1) == following(5, size) == 10
        assert following(10, 2 * size) == 30
        assert following(10, 10 * size) == 40  # the next segment
        assert following(10, 10 * size, end_offset=35) == 35
        assert following(40, 10 * size) == following(40, 1) == 50


class _Model:
    """What a log has to return, from a list of batches as (first, last, size)."""

    def __init__(self) -> None:
        self.batches: list[tuple[int, int, int]] = []

    def read(self, offset: int, max_bytes: int, end_offset: int) -> list[tuple[int, int]]:
        """The most a read may return."""
        found: list[tuple[int, int]] = []
        room = max_bytes
        for first, last, size in self.batches:
            if last < offset:
                continue
            if last >= end_offset or (found and size > room):
                break
            found.append((first, last))
            room -= size
        return found


def _check_reads(log: PartitionLog, model: _Model, data: st.DataObject) -> None:
    end = log.log_end_offset
    for _ in range(6):
        offset = data.draw(st.integers(0, end))
        end_offset = data.draw(st.integers(0, end))
        max_bytes = data.draw(st.sampled_from([1, 300, 1000, 5000, 1 << 20]))
        read, following = log.read_or_slice(
            offset, max_bytes, end_offset=end_offset, at_least_one=True, lazy_from=1 << 62
        )
        assert isinstance(read, bytes)
        found = spans(read)
        assert not found or found[-1][1] < following
        allowed = model.read(offset, max_bytes, end_offset)
        # A read may stop early, at an indexed batch or a segment's end, but never return nothing.
        assert found == allowed[: len(found)]
        assert bool(found) == bool(allowed)


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_every_read_agrees_with_a_list_of_batches(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Also across segments, gaps, restarts, kills and cuts."""
    log = new_log(
        tmp_path_factory.mktemp("log"),
        segment_bytes=data.draw(st.sampled_from([400, 3000, 1 << 20])),
        index_interval_bytes=data.draw(st.sampled_from([0, 200, 4096])),
    )
    model = _Model()
    for _ in range(data.draw(st.integers(1, 25))):
        step = data.draw(st.sampled_from(["append"] * 6 + ["follow", "reload", "kill", "truncate"]))
        if step in ("append", "follow"):
            count = data.draw(st.integers(1, 5))
            gap = data.draw(st.integers(0, 3)) if step == "follow" else 0
            first = log.log_end_offset + gap
            payload = batch(count, base_offset=first, leader_epoch=0, value=b"x" * count)
            if step == "append":
                append(log, payload)
            else:
                log.append_as_follower(payload, now_ms=NOW)
            model.batches.append((first, first + count - 1, len(payload)))
        elif step == "truncate":
            offset = data.draw(st.integers(0, log.log_end_offset))
            log.truncate_to(offset, NOW)
            model.batches = [entry for entry in model.batches if entry[1] < offset]
        else:
            end = log.log_end_offset
            log.close(clean=step == "reload")
            recovery_point = data.draw(st.integers(0, log.recovery_point))
            log = reload(log, clean=step == "reload", recovery_point=recovery_point)
            # A cut at an offset that no batch ends at leaves an end that only memory knows.
            assert log.log_end_offset <= end
        _check_reads(log, model, data)
    assert spans(everything(log)) == [entry[:2] for entry in model.batches]
    kill(log)
