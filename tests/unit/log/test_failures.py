"""Disks that fail: what was acknowledged stays, and nothing is pretended."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.base.errors import ErrorCode
from headrace.log.errors import LogDirFailure
from tests.unit.log.samples import (
    NOW,
    append,
    batch,
    everything,
    file_names,
    new_log,
    produce,
    reload,
    spans,
)


def _failing(code: int) -> Callable[..., int]:
    def fail(*_: object) -> int:
        raise OSError(code, os.strerror(code))

    return fail


def test_a_full_disk_refuses_the_batch_and_keeps_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = new_log(tmp_path)
    produce(log, 7, 0)
    before = everything(log)
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", _failing(errno.ENOSPC))
        with pytest.raises(LogDirFailure) as caught:
            produce(log, 7, 1)
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.data_directory == str(tmp_path)
    assert everything(log) == before
    assert not produce(log, 7, 1).duplicate
    assert spans(everything(log)) == [(0, 0), (1, 1)]


@pytest.mark.parametrize("then", ["error", "the rest"])
def test_a_short_write_is_completed_or_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    log = new_log(tmp_path)
    append(log, batch(1))
    size = log.active.size
    real = os.pwrite
    calls = 0

    def short(fd: int, data: bytes, position: int) -> int:
        nonlocal calls
        calls += 1
        if calls == 1:
            return real(fd, bytes(data)[:10], position)
        if then == "error":
            raise OSError(errno.ENOSPC, "full")
        return real(fd, data, position)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", short)
        if then == "error":
            with pytest.raises(LogDirFailure):
                append(log, batch(1))
        else:
            append(log, batch(1))
    assert calls == 2
    on_disk = Path(log.active.file.path).stat().st_size
    assert on_disk == log.active.size == (size if then == "error" else 2 * size)
    append(log, batch(1))
    log.close()
    again = reload(log, clean=False, recovery_point=0)
    assert again.log_end_offset == log.log_end_offset


def test_a_log_that_cannot_undo_a_write_refuses_all_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = new_log(tmp_path)
    append(log, batch(1))
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", _failing(errno.EIO))
        patch.setattr(os, "fstat", _failing(errno.EIO))
        with pytest.raises(LogDirFailure):
            append(log, batch(1))
    with pytest.raises(LogDirFailure):
        append(log, batch(1))
    with pytest.raises(LogDirFailure):
        log.read(0, 100, end_offset=1)
    assert log.failure is not None


def test_after_a_failed_fsync_the_log_vouches_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = new_log(tmp_path)
    append(log, batch(5))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", _failing(errno.EIO))
        with pytest.raises(LogDirFailure):
            log.flush()
    assert log.recovery_point == 0
    with pytest.raises(LogDirFailure):
        log.flush()
    with pytest.raises(LogDirFailure):
        append(log, batch(1))
    log.close()
    assert not [path for path in Path(log.directory).iterdir() if path.suffix == ".snapshot"]


def test_a_read_error_is_a_failed_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = new_log(tmp_path)
    append(log, batch(1))
    with monkeypatch.context() as patch:
        patch.setattr(os, "pread", _failing(errno.EIO))
        with pytest.raises(LogDirFailure) as caught:
            log.read(0, 100, end_offset=1)
    assert str(tmp_path) in caught.value.message


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EMFILE])
def test_a_roll_that_a_passing_cause_stops_is_made_up_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    log = new_log(tmp_path)
    produce(log, 7, 0)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", _failing(code))
        with pytest.raises(LogDirFailure):
            log.roll(NOW)
    assert log.failure is None
    log.roll(NOW)
    produce(log, 7, 1)
    assert spans(everything(log)) == [(0, 0), (1, 1)]
    assert [segment.base_offset for segment in log.segments] == [0, 1]
    log.close()
    assert spans(everything(reload(log, clean=True))) == [(0, 0), (1, 1)]


def test_a_process_that_may_open_no_more_files_has_no_broken_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = new_log(tmp_path)
    append(log, batch(1))
    log.files.close(log.active.file)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", _failing(errno.EMFILE))
        with pytest.raises(LogDirFailure):
            append(log, batch(1))
        with pytest.raises(LogDirFailure):
            log.read(0, 100, end_offset=1)
        with pytest.raises(LogDirFailure):
            log.begin_flush(NOW)
    assert log.failure is None
    append(log, batch(1))
    assert spans(everything(log)) == [(0, 0), (1, 1)]


def test_a_flush_that_could_not_open_a_file_is_left_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = new_log(tmp_path, index_interval_bytes=0)
    append(log, batch(1))
    append(log, batch(1))
    flush = log.begin_flush(NOW)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", _failing(errno.EMFILE))
        flush.run()
    with pytest.raises(LogDirFailure):
        flush.finish()
    assert log.failure is None
    assert log.recovery_point == 0
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    log.flush()
    assert log.recovery_point == 2
    assert len(synced) >= 4  # the log, two indexes and the epochs


def test_a_log_whose_files_are_gone_says_so_at_its_first_append(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = new_log(tmp_path)
    append(log, batch(1))
    log.close()
    log = reload(log, clean=True)
    log.files.close(log.active.file)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", _failing(errno.ENOENT))
        with pytest.raises(LogDirFailure):
            append(log, batch(1))
    assert log.failure is not None


def test_an_epoch_that_cannot_be_stored_is_not_taken_for_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = new_log(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", _failing(errno.ENOSPC))
        with pytest.raises(LogDirFailure):
            log.append_as_leader(batch(1), leader_epoch=3, now_ms=NOW)
    log.append_as_leader(batch(1), leader_epoch=3, now_ms=NOW)
    assert Path(log.leader_epochs.path).read_text() == "0\n1\n3 0\n"


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("kind", [".index", ".timeindex"])
def test_a_roll_that_fails_half_way_leaves_nothing_that_could_hide_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, clean: bool
) -> None:
    log = new_log(tmp_path)
    append(log, batch(3))
    real = os.open

    def refuse(path: str, *args: int) -> int:
        if path.endswith(f"{3:020d}{kind}"):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return real(path, *args)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        with pytest.raises(LogDirFailure):
            log.roll(NOW)
    assert f"{3:020d}.log" not in file_names(log)
    append(log, batch(2))
    log.close(clean=clean)
    again = reload(log, clean=clean)
    assert spans(everything(again)) == [(0, 2), (3, 4)]
    assert append(again, batch(1)).base_offset == 5


def test_a_roll_that_fails_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = new_log(tmp_path)
    append(log, batch(3))
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", _failing(errno.EMFILE))
        with pytest.raises(LogDirFailure):
            log.roll(NOW)
    log.close(clean=False)
    again = reload(log, clean=False)
    assert spans(everything(again)) == [(0, 2)]
