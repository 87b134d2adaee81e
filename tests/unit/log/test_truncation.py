"""Cutting a log at its end."""

from pathlib import Path

from tests.unit.log.samples import (
    NOW,
    append,
    batch,
    everything,
    file_names,
    new_log,
    newest_record,
    produce,
    reload,
    spans,
)

SIZE = len(batch(1))


def test_a_cut_drops_later_segments_and_their_files(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=2 * SIZE)
    for n in range(7):
        produce(log, 7, n)
    assert log.truncate_to(3, NOW)
    assert log.segments.base_offsets == [0, 2]
    assert log.log_end_offset == 3
    kinds = [name for name in file_names(log) if name.endswith((".log", ".index", ".timeindex"))]
    assert len(kinds) == 6
    assert [name for name in file_names(log) if name.endswith(".snapshot")] == [
        f"{2:020d}.snapshot",
        f"{3:020d}.snapshot",
    ]
    assert produce(log, 7, 3).base_offset == 3
    log.close()
    assert spans(everything(reload(log, clean=True))) == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_a_cut_inside_a_batch_drops_the_batch(tmp_path: Path) -> None:
    """Then the log ends where that batch began: a follower has to fetch it again."""
    log = new_log(tmp_path)
    append(log, batch(5))
    append(log, batch(5))
    log.truncate_to(7, NOW)
    assert log.log_end_offset == 5
    assert spans(everything(log)) == [(0, 4)]


def test_a_cut_at_the_end_or_behind_it_changes_nothing(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(5))
    assert not log.truncate_to(5, NOW)
    assert not log.truncate_to(50, NOW)
    assert log.log_end_offset == 5


def test_readers_do_not_find_what_was_cut(tmp_path: Path) -> None:
    log = new_log(tmp_path, index_interval_bytes=0)
    for n in range(6):
        append(log, batch(2, value=b"old", timestamp=NOW + n))
    everything(log)
    log.truncate_to(6, NOW)
    append(log, batch(1, value=b"new", timestamp=NOW))
    append(log, batch(4, value=b"newer", timestamp=NOW))
    for offset in range(6, 11):
        assert b"old" not in log.read(offset, 1 << 20, end_offset=11)
    newest = newest_record(log)
    assert newest is not None
    assert newest.offset < 11


def test_a_cut_moves_the_recovery_point_back(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(5))
    append(log, batch(5))
    log.flush()
    assert log.recovery_point == 10
    log.truncate_to(5, NOW)
    assert log.recovery_point == 5


def test_a_log_can_start_anew_anywhere(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=2 * SIZE)
    for n in range(5):
        produce(log, 7, n)
    log.truncate_fully_at(1000, NOW)
    assert (log.log_start_offset, log.log_end_offset) == (1000, 1000)
    assert len(log.producers) == 0
    assert append(log, batch(2)).base_offset == 1000
    log.close()
    again = reload(log, clean=True)
    assert (again.log_start_offset, again.log_end_offset) == (1000, 1002)


def test_a_cut_before_the_first_segment_starts_the_log_there(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.truncate_fully_at(100, NOW)
    append(log, batch(3))
    log.truncate_to(50, NOW)
    assert (log.log_start_offset, log.log_end_offset) == (50, 50)


def test_a_cut_below_the_log_start_moves_it_back(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(2))
    append(log, batch(8))
    log.delete_records_before(6)
    log.truncate_to(2, NOW)
    assert (log.log_start_offset, log.log_end_offset) == (2, 2)
