"""A full disk: what makes room goes on, what has to wait is done later, and nothing is lost."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.log.errors import LogDirFailure
from headrace.log.partition_log import PartitionLog
from headrace.log.txn_index import AbortedTxn
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
    kill,
    new_log,
    produce,
    reload,
    spans,
)


def _refuse(*_: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _fill_up(patch: pytest.MonkeyPatch) -> None:
    """From now on no byte can be written; files can be made and renamed."""
    for name in ("write", "pwrite"):
        patch.setattr(os, name, _refuse)


def _refused_for(real: Callable[..., Any], suffix: str, *, after: int = 0) -> Callable[..., Any]:
    """A system call that fails for its last path, once it has worked so often."""
    left = after

    def call(*args: Any) -> Any:
        nonlocal left
        path = [arg for arg in args if isinstance(arg, str)][-1]
        if path.endswith(suffix):
            if left == 0:
                _refuse()
            left -= 1
        return real(*args)

    return call


# Making room


def test_a_full_disk_gets_room_from_retention(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = aged_log(tmp_path, retention_ms=HOUR_MS)
    with monkeypatch.context() as patch:
        _fill_up(patch)
        assert len(log.retain(NOW + 3 * HOUR_MS, 4)) == 1
        log.delete_due_files(NOW + 4 * HOUR_MS)
    assert log.failure is None
    assert log.log_start_offset == 2
    assert not [name for name in file_names(log) if "deleted" in name]
    append(log, batch(1))
    assert spans(everything(log)) == [(2, 2), (3, 3), (4, 4)]


def test_a_full_disk_gets_room_from_deleted_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = aged_log(tmp_path, retention_ms=HOUR_MS)
    with monkeypatch.context() as patch:
        _fill_up(patch)
        log.delete_records_before(2)
        assert len(log.retain(NOW, 4)) == 1
    assert log.failure is None
    assert log.segments.base_offsets == [2, 3]


def test_where_all_is_too_old_a_full_disk_keeps_only_the_last_segment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no room for the new one that has to take its place."""
    log = aged_log(tmp_path, retention_ms=HOUR_MS)
    with monkeypatch.context() as patch:
        _fill_up(patch)
        ((segments, size, _),) = log.retain(NOW + 100 * HOUR_MS, 4)
        assert (segments, size) == (3, 3 * SIZE)
        with pytest.raises(LogDirFailure):
            log.retain(NOW + 100 * HOUR_MS, 4)
    assert log.failure is None
    assert spans(everything(log)) == [(3, 3)]
    assert len(log.retain(NOW + 100 * HOUR_MS, 4)) == 1
    assert (log.log_start_offset, log.log_end_offset) == (4, 4)


def test_epochs_of_deleted_records_leave_their_file_with_the_next_flush(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=SIZE)
    for epoch in (1, 2, 3):
        append(log, batch(1), leader_epoch=epoch)
    before = Path(log.leader_epochs.path).read_text()
    log.delete_records_before(1)
    assert Path(log.leader_epochs.path).read_text() == before
    entries = log.leader_epochs.entries
    assert [tuple(entry) for entry in entries] == [(2, 1), (3, 2)]
    kill(log)
    again = reload(log, clean=False)
    assert again.leader_epochs.entries == entries
    again.flush()
    assert Path(log.leader_epochs.path).read_text() == "0\n2\n2 1\n3 2\n"


@pytest.mark.parametrize("renamed", [0, 1, 2])
def test_segments_that_the_disk_does_not_rename_are_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renamed: int
) -> None:
    log = aged_log(tmp_path, retention_ms=HOUR_MS)
    before = file_names(log)
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", _refused_for(os.rename, ".deleted", after=renamed))
        with pytest.raises(LogDirFailure):
            log.retain(NOW + 2 * HOUR_MS, 4)
    assert log.failure is None
    assert file_names(log) == before
    assert sum(deletion.segments for deletion in log.retain(NOW + 2 * HOUR_MS, 4)) == 1
    assert log.segments.base_offsets == [1, 2, 3]
    assert spans(everything(log)) == [(1, 1), (2, 2), (3, 3)]


def test_files_that_the_disk_does_not_remove_are_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even a removal may need room, where a file system never writes in place."""
    log = aged_log(tmp_path, retention_ms=HOUR_MS)
    log.retain(NOW + 2 * HOUR_MS, 4)
    due_ms = NOW + 3 * HOUR_MS
    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", _refuse)
        with pytest.raises(LogDirFailure):
            log.delete_due_files(due_ms)
    assert log.failure is None
    log.delete_due_files(due_ms)  # one look is one try
    assert [name for name in file_names(log) if "deleted" in name]
    log.delete_due_files(due_ms + 1)
    assert not [name for name in file_names(log) if "deleted" in name]


# Aborted transactions


def _with_an_abort_not_stored(directory: Path, monkeypatch: pytest.MonkeyPatch) -> PartitionLog:
    log = new_log(directory)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", _refused_for(os.open, ".txnindex"))
        produce(log, 7, 0, transactional=True)
        assert end_transaction(log, 7, 0, commit=False).base_offset == 1
    assert not _txn_index(log).exists()
    return log


def _txn_index(log: PartitionLog) -> Path:
    return Path(log.directory) / f"{0:020d}.txnindex"


def test_an_abort_that_cannot_be_stored_is_told_to_readers_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = _with_an_abort_not_stored(tmp_path, monkeypatch)
    assert log.failure is None
    assert log.last_stable_offset(2) == 2
    assert log.aborted_transactions(0, 2) == [AbortedTxn(7, 0, 1, 2)]
    produce(log, 7, 1, transactional=True)
    end_transaction(log, 7, 0, commit=False)
    both = log.aborted_transactions(0, 4)
    assert [aborted.last_offset for aborted in both] == [1, 3]
    assert _txn_index(log).stat().st_size == 2 * 34
    log.close()
    assert reload(log, clean=True).aborted_transactions(0, 4) == both


def test_nothing_vouches_for_an_abort_that_is_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = _with_an_abort_not_stored(tmp_path, monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", _refused_for(os.open, ".txnindex"))
        with pytest.raises(LogDirFailure):
            log.flush()
        with pytest.raises(LogDirFailure):
            log.roll(NOW)
    assert log.failure is None
    assert (log.recovery_point, len(log.segments)) == (0, 1)
    log.flush()
    assert log.recovery_point == 2
    assert _txn_index(log).stat().st_size == 34


def test_an_abort_that_was_never_stored_is_found_by_recovery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = _with_an_abort_not_stored(tmp_path, monkeypatch)
    kill(log)
    again = reload(log, clean=False)
    assert again.aborted_transactions(0, 2) == [AbortedTxn(7, 0, 1, 2)]
    assert _txn_index(log).stat().st_size == 34


def test_an_abort_that_is_not_stored_goes_with_a_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = _with_an_abort_not_stored(tmp_path, monkeypatch)
    log.truncate_to(1, NOW)
    assert log.aborted_transactions(0, 2) == []
    log.flush()
    assert not _txn_index(log).exists()
