"""Which part of a log may be cleaned, and when it is worth it."""

from pathlib import Path

import pytest

from headrace.log.partition_log import PartitionLog
from tests.unit.log.cleaner.samples import compacted_log, look, put, roll
from tests.unit.log.samples import NOW, new_log

HOUR = 3_600_000


def log_of_segments(
    directory: Path, count: int, *, step_ms: int = 0, **settings: object
) -> PartitionLog:
    """`count` closed segments of one record each, and an empty active one."""
    log = compacted_log(directory, **settings)
    for n in range(count):
        put(log, (b"k", b"%d" % n), timestamp=NOW + n * step_ms)
        roll(log)
    return log


def test_the_active_segment_is_never_touched(tmp_path: Path) -> None:
    log = log_of_segments(tmp_path, 2)
    put(log, (b"k", b"active"))
    found = look(log)
    assert (found.first_dirty_offset, found.first_uncleanable_offset) == (0, 2)


def test_a_log_with_nothing_but_its_active_segment_has_nothing_to_clean(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    put(log, (b"k", b"1"))
    found = look(log)
    assert found.cleanable_bytes == 0
    assert not found.is_worth_it


@pytest.mark.parametrize(("high_watermark", "end"), [(4, 4), (3, 3), (1, 1), (0, 0)])
def test_nothing_at_or_above_the_high_watermark_is_cleaned(
    tmp_path: Path, high_watermark: int, end: int
) -> None:
    found = look(log_of_segments(tmp_path, 4), high_watermark=high_watermark)
    assert found.first_uncleanable_offset == end


def test_a_segment_that_the_high_watermark_cuts_stays(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    put(log, (b"a", b"1"), (b"b", b"1"))
    roll(log)
    put(log, (b"a", b"2"), (b"b", b"2"))
    roll(log)
    assert look(log, high_watermark=3).first_uncleanable_offset == 2


def test_records_younger_than_the_least_lag_stay(tmp_path: Path) -> None:
    log = log_of_segments(tmp_path, 4, step_ms=HOUR, min_compaction_lag_ms=2 * HOUR)
    assert look(log, now_ms=NOW + 3 * HOUR).first_uncleanable_offset == 2
    assert look(log, now_ms=NOW + 5 * HOUR).first_uncleanable_offset == 4
    assert look(log, now_ms=NOW).cleanable_bytes == 0


def test_the_dirty_share_decides(tmp_path: Path) -> None:
    log = log_of_segments(tmp_path, 4, min_cleanable_dirty_ratio=0.5)
    assert look(log, dirty_from=0).dirty_ratio == 1.0
    assert look(log, dirty_from=2).dirty_ratio == 0.5
    assert not look(log, dirty_from=2).is_worth_it
    assert look(log, dirty_from=1).is_worth_it
    assert look(log, dirty_from=4).dirty_ratio == 0.0


def test_a_log_is_due_once_something_dirty_is_older_than_the_greatest_lag(tmp_path: Path) -> None:
    log = log_of_segments(tmp_path, 10, min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=HOUR)
    assert not look(log, dirty_from=9, now_ms=NOW + HOUR).is_worth_it
    found = look(log, dirty_from=9, now_ms=NOW + HOUR + 5)
    assert found.overdue_ms == 5
    assert found.is_worth_it


def test_the_greatest_lag_alone_does_not_make_a_clean_log_dirty(tmp_path: Path) -> None:
    log = log_of_segments(tmp_path, 2, min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=HOUR)
    assert not look(log, dirty_from=2, now_ms=NOW + 9 * HOUR).is_worth_it


@pytest.mark.parametrize("checkpoint", [1, 99])
def test_a_checkpoint_outside_the_log_is_set_back_to_its_start(
    tmp_path: Path, checkpoint: int
) -> None:
    log = log_of_segments(tmp_path, 4)
    log.delete_records_before(2)
    found = look(log, dirty_from=checkpoint)
    assert found.checkpoint_invalid
    assert found.first_dirty_offset == 2


def test_a_topic_that_is_not_compacted_can_still_be_looked_at(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    assert look(log).dirty_ratio == 0.0
