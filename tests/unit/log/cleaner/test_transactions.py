"""Aborted data goes at once; markers stay as long as anything of their transaction does."""

from pathlib import Path

from headrace.log.partition_log import PartitionLog
from tests.unit.log.cleaner.samples import (
    compact,
    compacted_log,
    contents,
    headers_of,
    put,
    replayed,
    roll,
)
from tests.unit.log.samples import NOW, end_transaction, reload

DAY = 86_400_000


def put_in_transaction(
    log: PartitionLog,
    producer_id: int,
    sequence: int,
    key: bytes,
    value: bytes,
) -> int:
    return put(
        log,
        (key, value),
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
        transactional=True,
    )


def forget_producers(log: PartitionLog) -> None:
    """Expire every producer, so that nothing is kept for its sake."""
    log.expire_producers(NOW + 2 * DAY)


def shape(log: PartitionLog) -> list[tuple[int, bool, int]]:
    """(base offset, is control, records) of what is left."""
    return [(h.base_offset, h.is_control, h.record_count) for h in headers_of(log)]


def test_aborted_records_are_dropped_and_never_hide_committed_ones(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    put(log, (b"a", b"committed"))
    put_in_transaction(log, 7, 0, b"a", b"aborted")
    put_in_transaction(log, 8, 0, b"b", b"committed")
    end_transaction(log, 7, 0, commit=False)
    end_transaction(log, 8, 0, commit=True)
    put(log, (b"z", b"1"))
    roll(log)
    forget_producers(log)
    compact(log)
    assert contents(log) == [(0, b"a", b"committed"), (2, b"b", b"committed"), (5, b"z", b"1")]
    # The reader of committed data still has to know where the aborted transaction was.
    assert [t.producer_id for t in log.aborted_transactions(0, 6)] == [7]


def test_the_marker_of_a_vanished_transaction_goes_after_the_retention_of_tombstones(
    tmp_path: Path,
) -> None:
    log = compacted_log(tmp_path)
    put_in_transaction(log, 7, 0, b"a", b"aborted")
    end_transaction(log, 7, 0, commit=False)
    put(log, (b"z", b"1"))
    roll(log)
    forget_producers(log)
    compact(log)  # drops the data, and meets a marker that still had some
    assert shape(log) == [(1, True, 1), (2, False, 1)]
    assert not headers_of(log)[0].has_delete_horizon
    assert log.aborted_transactions(0, 3)

    compact(log, now_ms=NOW + 1)  # nothing is left to be marked: the delay begins
    marker = headers_of(log)[0]
    assert marker.has_delete_horizon
    assert marker.base_timestamp == NOW + 1 + DAY
    assert not log.aborted_transactions(0, 3)
    compact(log, now_ms=NOW + DAY)
    assert shape(log) == [(1, True, 1), (2, False, 1)]

    compact(log, now_ms=NOW + DAY + 1)
    assert shape(log) == [(2, False, 1)]


def test_a_commit_marker_stays_while_a_record_of_its_transaction_does(tmp_path: Path) -> None:
    log = compacted_log(tmp_path, delete_retention_ms=0)
    put_in_transaction(log, 7, 0, b"a", b"1")
    put_in_transaction(log, 7, 1, b"b", b"1")
    end_transaction(log, 7, 0, commit=True)
    put(log, (b"b", b"2"))
    roll(log)
    forget_producers(log)
    for now_ms in (NOW, NOW + 1, NOW + 2):
        compact(log, now_ms=now_ms)
    assert shape(log) == [(0, False, 1), (2, True, 1), (3, False, 1)]
    put(log, (b"a", b"2"))
    roll(log)
    compact(log, now_ms=NOW + 3)
    compact(log, now_ms=NOW + 4)
    compact(log, now_ms=NOW + 5)
    assert shape(log) == [(3, False, 1), (4, False, 1)]


def test_an_aborted_transaction_across_segments_is_dropped_from_all(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    put_in_transaction(log, 7, 0, b"a", b"aborted")
    put(log, (b"k", b"1"))
    roll(log)
    put_in_transaction(log, 7, 1, b"b", b"aborted")
    roll(log)
    end_transaction(log, 7, 0, commit=False)
    put(log, (b"z", b"1"))
    roll(log)
    forget_producers(log)
    compact(log)
    assert contents(log) == [(1, b"k", b"1"), (4, b"z", b"1")]


def test_aborted_data_goes_though_its_marker_lies_beyond_the_round(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    put_in_transaction(log, 7, 0, b"a", b"aborted")
    put(log, (b"k", b"1"))
    roll(log)
    put_in_transaction(log, 8, 0, b"open", b"1")
    end_transaction(log, 7, 0, commit=False)
    roll(log)
    forget_producers(log)
    compact(log)
    assert contents(log)[0] == (1, b"k", b"1")
    assert [t.producer_id for t in log.aborted_transactions(0, 4)] == [7]


def test_nothing_of_an_open_transaction_is_touched(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    put(log, (b"a", b"1"))
    roll(log)
    put_in_transaction(log, 7, 0, b"a", b"2")
    roll(log)
    put(log, (b"a", b"3"))
    roll(log)
    result = compact(log)
    assert result.end_offset == 1
    assert [value for _, _, value in contents(log)] == [b"1", b"2", b"3"]


def test_the_state_of_transactions_survives_a_restart_after_compaction(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    put_in_transaction(log, 7, 0, b"a", b"aborted")
    end_transaction(log, 7, 0, commit=False)
    put_in_transaction(log, 8, 0, b"a", b"1")
    end_transaction(log, 8, 0, commit=True)
    put(log, (b"a", b"2"))
    roll(log)
    for now_ms in (NOW, NOW + 1, NOW + 2 * DAY, NOW + 2 * DAY + 1):
        compact(log, now_ms=now_ms)
    state = replayed(log)
    again = reload(log, clean=False, recovery_point=0, log_start_offset=0)
    assert replayed(again) == state == {b"a": b"2"}
    assert again.last_stable_offset(again.log_end_offset) == again.log_end_offset
    assert again.log_end_offset == log.log_end_offset
