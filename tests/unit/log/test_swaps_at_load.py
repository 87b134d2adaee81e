"""Compacted segments put in place, and what a start makes of a swap that a crash interrupted."""

import os
from pathlib import Path

import pytest

from headrace.log.partition_log import PartitionLog
from headrace.log.segment import Segment
from tests.unit.log.samples import (
    NOW,
    append,
    batch,
    everything,
    file_names,
    new_log,
    reload,
    replace_segments,
    spans,
)


def _log_with_segments(directory: Path) -> PartitionLog:
    """Six batches of one record in three segments."""
    log = new_log(directory, segment_bytes=200)
    for n in range(6):
        append(log, batch(1, value=b"%02d" % n + b"x" * 20))
    assert log.segments.base_offsets == [0, 2, 4]
    return log


def _cleaned(log: PartitionLog, keep: list[int]) -> Segment:
    """A `.cleaned` segment with some of the batches of the first two segments."""
    cleaned = Segment.create(log.files, log.directory, 0, NOW, suffix=".cleaned")
    for offset in keep:
        data = log.read(offset, 1, end_offset=offset + 1)
        cleaned.note(cleaned.write(data), offset, NOW, 4096)
    cleaned.finish()
    return cleaned


def test_compacted_segments_take_the_place_of_the_old_ones(tmp_path: Path) -> None:
    log = _log_with_segments(tmp_path)
    old = [log.segments[0], log.segments[1]]
    replace_segments(log, [_cleaned(log, [1, 3])], old)
    assert log.segments.base_offsets == [0, 4]
    assert spans(everything(log)) == [(1, 1), (3, 3), (4, 4), (5, 5)]
    assert spans(log.read(2, 1 << 20, end_offset=6)) == [(3, 3)]
    assert [name for name in file_names(log) if "deleted" in name] != []
    log.delete_due_files(NOW + 60_000)
    assert [name for name in file_names(log) if name.count(".") > 1] == []
    log.close()
    again = reload(log, clean=True)
    assert spans(everything(again)) == [(1, 1), (3, 3), (4, 4), (5, 5)]


def test_a_segment_that_compaction_emptied_is_read_over(tmp_path: Path) -> None:
    log = _log_with_segments(tmp_path)
    replace_segments(log, [_cleaned(log, [])], [log.segments[0], log.segments[1]])
    assert spans(log.read(0, 1 << 20, end_offset=6)) == [(4, 4), (5, 5)]


@pytest.mark.parametrize("clean", [True, False])
def test_half_written_compaction_is_thrown_away(tmp_path: Path, clean: bool) -> None:
    log = _log_with_segments(tmp_path)
    before = everything(log)
    _cleaned(log, [1]).close()
    log.close()
    again = reload(log, clean=clean)
    assert everything(again) == before
    assert not [name for name in file_names(log) if "cleaned" in name]


@pytest.mark.parametrize("renamed", [1, 2])
def test_a_swap_with_files_still_called_cleaned_is_thrown_away(
    tmp_path: Path, renamed: int
) -> None:
    log = _log_with_segments(tmp_path)
    before = everything(log)
    _cleaned(log, [1]).close()
    log.close()
    for kind in (".log", ".index")[:renamed]:
        path = Path(log.directory) / f"{0:020d}{kind}.cleaned"
        path.rename(path.with_suffix(".swap"))
    again = reload(log, clean=False)
    assert everything(again) == before
    assert not [name for name in file_names(log) if "cleaned" in name or "swap" in name]


@pytest.mark.parametrize("old_left", [["0", "2"], ["2"], []])
def test_a_complete_swap_is_finished(tmp_path: Path, old_left: list[str]) -> None:
    """Whatever the crash left of the old segments."""
    log = _log_with_segments(tmp_path)
    cleaned = _cleaned(log, [1, 3])
    cleaned.rename(".swap")
    cleaned.close()
    log.close()
    for base in {"0", "2"} - set(old_left):
        for kind in (".log", ".index", ".timeindex"):
            path = os.path.join(log.directory, f"{int(base):020d}{kind}")
            os.rename(path, path + ".deleted")
    again = reload(log, clean=False)
    assert spans(everything(again)) == [(1, 1), (3, 3), (4, 4), (5, 5)]
    assert again.segments.base_offsets == [0, 4]
    assert not [name for name in file_names(log) if "swap" in name or "deleted" in name]


def test_indexes_without_a_log_are_removed(tmp_path: Path) -> None:
    log = _log_with_segments(tmp_path)
    log.close()
    stray = Path(log.directory) / f"{99:020d}.index"
    stray.write_bytes(b"12345678")
    reload(log, clean=True)
    assert not stray.exists()
