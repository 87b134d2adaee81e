"""When segments begin and when they go."""

from dataclasses import replace
from pathlib import Path

import pytest

from headrace.log.partition_log import PartitionLog
from tests.unit.log.samples import (
    HOUR_MS,
    NOW,
    SIZE,
    aged_log,
    append,
    batch,
    end_transaction,
    everything,
    file_names,
    new_log,
    produce,
    reload,
    spans,
)


def _bases(log: PartitionLog) -> list[int]:
    return log.segments.base_offsets


# Rolling


def test_a_segment_rolls_when_the_next_batch_does_not_fit(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=2 * SIZE)
    for _ in range(5):
        append(log, batch(1))
    assert _bases(log) == [0, 2, 4]


def test_a_segment_rolls_by_its_records_time(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_ms=HOUR_MS)
    append(log, batch(1, timestamp=NOW))
    append(log, batch(1, timestamp=NOW + HOUR_MS))
    assert _bases(log) == [0]
    append(log, batch(1, timestamp=NOW + HOUR_MS + 1))
    assert _bases(log) == [0, 2]


def test_changed_limits_count_from_the_next_batch_on(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_ms=HOUR_MS)
    for minute in range(5):
        append(log, batch(1, timestamp=NOW + minute * 60_000))
    log.config = replace(log.config, segment_ms=60_000)
    append(log, batch(1, timestamp=NOW + 5 * 60_000))
    assert _bases(log) == [0, 5]
    for _ in range(3):
        append(log, batch(1, timestamp=NOW + 5 * 60_000))
    log.config = replace(log.config, segment_bytes=4 * SIZE)
    append(log, batch(1, timestamp=NOW + 5 * 60_000))
    assert _bases(log) == [0, 5, 9]


def test_a_segment_that_was_cut_rolls_by_the_time_of_its_new_first_batch(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_ms=HOUR_MS)
    for _ in range(3):
        append(log, batch(1, timestamp=NOW + HOUR_MS))
    log.truncate_to(0, NOW)
    append(log, batch(1, timestamp=NOW))
    append(log, batch(1, timestamp=NOW))
    append(log, batch(1, timestamp=NOW + HOUR_MS + 1))
    assert _bases(log) == [0, 2]


def test_the_first_batchs_time_is_known_after_a_restart(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_ms=HOUR_MS)
    append(log, batch(1, timestamp=NOW))
    append(log, batch(1, timestamp=NOW + HOUR_MS // 2))
    log.close()
    log = reload(log, clean=True)
    append(log, batch(1, timestamp=NOW + HOUR_MS + 1))
    assert _bases(log) == [0, 2]


def test_records_without_a_time_roll_by_the_clock(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_ms=HOUR_MS)
    append(log, batch(1, timestamp=-1), now_ms=NOW)
    append(log, batch(1, timestamp=-1), now_ms=NOW + HOUR_MS)
    assert _bases(log) == [0]
    append(log, batch(1, timestamp=-1), now_ms=NOW + HOUR_MS + 1)
    assert _bases(log) == [0, 2]


def test_a_compacted_log_rolls_by_its_compaction_lag(tmp_path: Path) -> None:
    log = new_log(tmp_path, cleanup_policy=frozenset({"compact"}), max_compaction_lag_ms=HOUR_MS)
    append(log, batch(1, timestamp=NOW))
    append(log, batch(1, timestamp=NOW + HOUR_MS + 1))
    assert _bases(log) == [0, 1]


def test_jitter_rolls_earlier_but_never_later(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_ms=HOUR_MS, segment_jitter_ms=HOUR_MS // 2)
    append(log, batch(1, timestamp=NOW))
    append(log, batch(1, timestamp=NOW + HOUR_MS // 2))
    assert _bases(log) == [0]
    append(log, batch(1, timestamp=NOW + HOUR_MS + 1))
    assert len(_bases(log)) == 2


def test_a_segment_rolls_when_its_index_is_full(tmp_path: Path) -> None:
    log = new_log(tmp_path, index_interval_bytes=0, segment_index_bytes=24)
    for _ in range(4):
        append(log, batch(1, timestamp=-1))
    assert _bases(log) == [0]
    append(log, batch(1, timestamp=-1))
    assert _bases(log) == [0, 4]


def test_the_time_index_keeps_a_place_for_the_entry_of_the_roll(tmp_path: Path) -> None:
    log = new_log(tmp_path, index_interval_bytes=0, segment_index_bytes=36)
    for n in range(4):
        append(log, batch(1, timestamp=NOW + n))
    assert _bases(log) == [0, 3]
    assert len(log.segments[0].time_index) <= 3


def test_a_segment_rolls_before_an_offset_that_its_index_cannot_hold(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(1))
    far = (1 << 31) + 5
    log.append_as_follower(batch(1, base_offset=far, leader_epoch=0), now_ms=NOW)
    assert _bases(log) == [0, far]
    assert spans(log.read(1, 1 << 20, end_offset=far + 1)) == [(far, far)]


def test_a_roll_leaves_the_largest_time_as_the_last_index_entry(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    for timestamp in (NOW, NOW + 50, NOW + 10):
        append(log, batch(1, timestamp=timestamp))
    log.roll(NOW)
    index = log.segments[0].time_index
    assert index.last_entry() == (NOW + 50, 1)
    assert Path(index.path).stat().st_size == 12


def test_rolling_an_empty_segment_changes_nothing(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    assert log.roll(NOW) is log.active
    assert _bases(log) == [0]


# Retention


def _deleted(log: PartitionLog, now_ms: int, high_watermark: int) -> int:
    """Apply retention; how many segments went."""
    return sum(deletion.segments for deletion in log.retain(now_ms, high_watermark))


def test_segments_older_than_the_retention_time_go(tmp_path: Path) -> None:
    log = aged_log(tmp_path, retention_ms=HOUR_MS)
    assert _deleted(log, NOW + 2 * HOUR_MS, 4) == 1
    assert _bases(log) == [1, 2, 3]
    assert log.log_start_offset == 1
    assert _deleted(log, NOW + 2 * HOUR_MS, 4) == 0


def test_a_damaged_time_index_does_not_make_a_segment_old(tmp_path: Path) -> None:
    log = new_log(tmp_path, retention_ms=HOUR_MS)
    append(log, batch(1))
    log.roll(NOW)
    log.close()
    index = Path(log.segments[0].time_index.path)
    entry = bytearray(index.read_bytes())
    assert len(entry) == 12  # or the first entry would give the last one away
    entry[2] ^= 1
    index.write_bytes(entry)
    again = reload(log, clean=True)
    assert _deleted(again, NOW, 1) == 0
    assert _deleted(again, NOW + 2 * HOUR_MS, 1) == 1


def test_the_active_segment_is_rolled_before_it_goes(tmp_path: Path) -> None:
    log = aged_log(tmp_path, retention_ms=HOUR_MS)
    assert _deleted(log, NOW + 100 * HOUR_MS, 4) == 4
    assert _bases(log) == [4]
    assert (log.log_start_offset, log.log_end_offset, log.active.size) == (4, 4, 0)
    assert append(log, batch(1)).base_offset == 4
    assert _deleted(log, NOW + 100 * HOUR_MS, 4) == 0


def test_an_empty_log_is_left_alone(tmp_path: Path) -> None:
    log = new_log(tmp_path, retention_ms=1, retention_bytes=0)
    assert _deleted(log, NOW + 100 * HOUR_MS, 0) == 0


def test_segments_beyond_the_retention_size_go(tmp_path: Path) -> None:
    log = aged_log(tmp_path, retention_bytes=2 * SIZE + 1, retention_ms=-1)
    assert _deleted(log, NOW, 4) == 1
    assert _bases(log) == [1, 2, 3]


def test_without_limits_everything_stays(tmp_path: Path) -> None:
    log = aged_log(tmp_path, retention_bytes=-1, retention_ms=-1)
    assert _deleted(log, NOW + 100 * HOUR_MS, 4) == 0


def test_a_compacted_log_keeps_what_is_old(tmp_path: Path) -> None:
    log = aged_log(tmp_path, retention_ms=1, cleanup_policy=frozenset({"compact"}))
    assert _deleted(log, NOW + 100 * HOUR_MS, 4) == 0


def test_nothing_at_or_above_the_high_watermark_goes(tmp_path: Path) -> None:
    log = aged_log(tmp_path, retention_ms=1)
    assert _deleted(log, NOW + 100 * HOUR_MS, 2) == 2
    assert _bases(log) == [2, 3]


@pytest.mark.parametrize("policy", ["delete", "compact"])
def test_segments_below_the_log_start_go_whatever_the_policy(tmp_path: Path, policy: str) -> None:
    log = aged_log(tmp_path, retention_ms=-1, cleanup_policy=frozenset({policy}))
    log.delete_records_before(2)
    assert spans(everything(log)) == [(2, 2), (3, 3)]
    assert _deleted(log, NOW, 4) == 2
    assert _bases(log) == [2, 3]


def test_records_deleted_within_a_segment_stay_deleted(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(10))
    log.delete_records_before(4)
    assert _deleted(log, NOW, 10) == 0
    log.close()
    assert reload(log, clean=True).log_start_offset == 4


def test_retention_tells_what_went_and_why(tmp_path: Path) -> None:
    log = aged_log(tmp_path, retention_ms=HOUR_MS, retention_bytes=2 * SIZE)
    log.delete_records_before(1)
    assert log.retain(NOW + 100 * HOUR_MS, 4) == [
        (1, SIZE, "before the log start offset 1"),
        (1, SIZE, f"over retention.bytes={2 * SIZE}"),
        (2, 2 * SIZE, f"older than retention.ms={HOUR_MS}"),
    ]


def test_files_leave_the_disk_after_the_delay(tmp_path: Path) -> None:
    log = aged_log(tmp_path, retention_ms=HOUR_MS, file_delete_delay_ms=1000)
    log.retain(NOW + 2 * HOUR_MS, 4)
    deleted = [name for name in file_names(log) if name.endswith(".deleted")]
    assert f"{0:020d}.log.deleted" in deleted
    log.delete_due_files(NOW + 2 * HOUR_MS + 999)
    assert [name for name in file_names(log) if name.endswith(".deleted")] == deleted
    log.delete_due_files(NOW + 2 * HOUR_MS + 1000)
    assert not [name for name in file_names(log) if name.endswith(".deleted")]


def test_files_waiting_to_be_deleted_go_at_the_next_start(tmp_path: Path) -> None:
    log = aged_log(tmp_path, retention_ms=HOUR_MS)
    log.retain(NOW + 2 * HOUR_MS, 4)
    log.close()
    again = reload(log, clean=True)
    assert again.log_start_offset == 1
    assert not [name for name in file_names(log) if name.endswith(".deleted")]


def test_old_epochs_go_with_their_records(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=SIZE, retention_ms=1)
    for epoch in (1, 2, 3):
        append(log, batch(1), leader_epoch=epoch)
    log.delete_records_before(1)
    assert [tuple(entry) for entry in log.leader_epochs.entries] == [(2, 1), (3, 2)]


def test_producers_are_known_after_their_records_went(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=SIZE, retention_ms=1)
    for n in range(3):
        produce(log, 7, n)
    log.retain(NOW + HOUR_MS, 3)
    assert log.log_start_offset == 3
    assert produce(log, 7, 2).duplicate


def test_a_transaction_whose_records_went_holds_nobody_up(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=SIZE)
    produce(log, 7, 0, transactional=True)
    end_transaction(log, 7, 0, commit=True)
    append(log, batch(1))
    log.delete_records_before(2)
    assert log.last_stable_offset(3) == 3


def test_a_fetch_larger_than_a_segment_is_spread_over_several(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=2 * SIZE)
    data = b"".join(batch(1, base_offset=n, leader_epoch=0) for n in range(7))
    result = log.append_as_follower(data, now_ms=NOW)
    assert (result.base_offset, result.last_offset) == (0, 6)
    assert everything(log) == data
    assert all(segment.size <= 2 * SIZE for segment in log.segments)
