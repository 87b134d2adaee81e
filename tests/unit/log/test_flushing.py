"""When data is on the disk, and who says so."""

import os
from pathlib import Path
from threading import Thread

import pytest

from headrace.log.open_files import OpenFiles
from tests.unit.log.samples import NOW, append, batch, new_log, produce

SIZE = len(batch(1))

needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks into /proc")


def test_appends_do_not_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = new_log(tmp_path)
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    monkeypatch.setattr(os, "fsync", synced.append)
    for _ in range(5):
        assert not append(log, batch(1)).flush_needed
    assert synced == []
    assert log.recovery_point == 0


def test_the_recovery_point_follows_a_finished_flush(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(3))
    flush = log.begin_flush(NOW)
    append(log, batch(2))
    runner = Thread(target=flush.run)
    runner.start()
    runner.join()
    assert log.recovery_point == 0
    flush.finish()
    assert log.recovery_point == 3


@needs_proc
def test_a_flush_syncs_data_indexes_epochs_and_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = new_log(tmp_path, index_interval_bytes=0)
    append(log, batch(1))
    append(log, batch(1))
    synced: list[str] = []

    def note(fd: int) -> None:
        synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{fd}")))

    monkeypatch.setattr(os, "fdatasync", note)
    monkeypatch.setattr(os, "fsync", note)
    log.flush()
    assert sorted(synced) == [
        f"{0:020d}.index",
        f"{0:020d}.log",
        f"{0:020d}.timeindex",
        "leader-epoch-checkpoint",
        "partition.metadata",
        "t-0",
    ]
    synced.clear()
    append(log, batch(1, timestamp=NOW - 1))
    log.flush()
    assert sorted(synced) == [f"{0:020d}.index", f"{0:020d}.log"]


def test_flush_messages_asks_for_a_flush_before_the_reply(tmp_path: Path) -> None:
    log = new_log(tmp_path, flush_messages=3)
    assert not append(log, batch(2)).flush_needed
    assert append(log, batch(1)).flush_needed
    log.flush()
    assert not append(log, batch(2)).flush_needed


def test_a_duplicate_asks_for_the_flush_that_its_original_waits_for(tmp_path: Path) -> None:
    log = new_log(tmp_path, flush_messages=1)
    assert produce(log, 7, 0).flush_needed
    again = produce(log, 7, 0)
    assert again.duplicate
    assert again.flush_needed
    log.flush()
    assert not produce(log, 7, 0).flush_needed


def test_flush_ms_asks_for_a_flush_in_the_background(tmp_path: Path) -> None:
    log = new_log(tmp_path, flush_ms=1000)
    assert not log.needs_flush(NOW + 5000)
    append(log, batch(1))
    assert not log.needs_flush(NOW + 999)
    assert log.needs_flush(NOW + 1000)
    log.flush(NOW + 1000)
    append(log, batch(1))
    assert not log.needs_flush(NOW + 1999)


def test_a_rolled_segment_wants_a_flush_of_its_own(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=2 * SIZE)
    for _ in range(3):
        append(log, batch(1))
    assert log.needs_flush(NOW)
    flush = log.begin_flush(NOW, offset=log.active.base_offset)
    flush.run()
    flush.finish()
    assert log.recovery_point == 2
    assert not log.needs_flush(NOW)


def test_a_flush_vouches_for_nothing_that_was_cut_meanwhile(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(5))
    append(log, batch(5))
    flush = log.begin_flush(NOW)
    flush.run()
    log.truncate_to(5, NOW)
    append(log, batch(5))
    flush.finish()
    assert log.recovery_point == 0


@needs_proc
def test_a_file_being_synced_stays_open(tmp_path: Path) -> None:
    files = OpenFiles(2)
    log = new_log(tmp_path, files=files, segment_bytes=SIZE)
    append(log, batch(1))
    flush = log.begin_flush(NOW)
    fd = log.segments[0].file.fd
    for _ in range(4):
        append(log, batch(1))
    log.segments[0].close()
    assert os.readlink(f"/proc/self/fd/{fd}").endswith(f"{0:020d}.log")
    flush.run()
    flush.finish()
    assert log.recovery_point == 1
    assert log.segments[0].file.fd == -1
