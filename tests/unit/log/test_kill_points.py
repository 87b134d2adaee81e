"""A kill at any system call that changes a file loses nothing that was acknowledged.

The calls are counted; the n-th one raises, and so does every later one, as if the process were
gone. Then the directory is loaded with a sound system again.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headrace.log.partition_log import PartitionLog
from headrace.log.segment import Segment
from tests.unit.log.samples import (
    NOW,
    append,
    batch,
    end_transaction,
    everything,
    kill,
    new_log,
    produce,
    reload,
    replace_segments,
    spans,
)

SIZE = len(batch(1))
CHANGES = ("open", "pwrite", "write", "rename", "replace", "unlink", "ftruncate", "truncate")


class _KilledError(BaseException):
    pass


class _Kill:
    """Counts changes and stops the world at one of them."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.count = 0

    def wrap(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.count += 1
            if self.count >= self.at:
                raise _KilledError
            return real(*args, **kwargs)

        return call

    @contextmanager
    def active(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        with monkeypatch.context() as patch:
            for name in CHANGES:
                patch.setattr(os, name, self.wrap(getattr(os, name)))
            yield


Scenario = Callable[[PartitionLog, list[int]], None]


def _append_and_roll(log: PartitionLog, acknowledged: list[int]) -> None:
    for n in range(8):
        acknowledged.append(produce(log, 7, n).base_offset)
        if n == 3:
            log.flush(NOW)
    append(log, batch(1), leader_epoch=3)


def _abort_transactions(log: PartitionLog, acknowledged: list[int]) -> None:
    for n in range(4):
        acknowledged.append(produce(log, 7, n, transactional=True).base_offset)
        acknowledged.append(end_transaction(log, 7, 0, commit=False).base_offset)


def _delete_old_segments(log: PartitionLog, acknowledged: list[int]) -> None:
    _append_and_roll(log, acknowledged)
    log.delete_records_before(5)
    # Kept are those from the segment on that holds the new start.
    acknowledged[:] = [offset for offset in acknowledged if offset >= 4]
    log.retain(NOW, log.log_end_offset)
    log.delete_due_files(NOW + 60_000)


def _compact(log: PartitionLog, acknowledged: list[int]) -> None:
    _append_and_roll(log, acknowledged)
    cleaned = Segment.create(log.files, log.directory, 0, NOW, suffix=".cleaned")
    for offset in (1, 3):
        data = log.read(offset, 1, end_offset=offset + 1)
        cleaned.note(cleaned.write(data), offset, NOW, 4096)
    cleaned.finish()
    for offset in (0, 2):
        acknowledged.remove(offset)
    replace_segments(log, [cleaned], [log.segments[0], log.segments[1]])


def _close(log: PartitionLog, acknowledged: list[int]) -> None:
    _append_and_roll(log, acknowledged)
    log.close()


@pytest.mark.parametrize(
    "scenario",
    [_append_and_roll, _abort_transactions, _delete_old_segments, _compact, _close],
    ids=lambda scenario: scenario.__name__.strip("_"),
)
def test_a_kill_at_any_change_loses_nothing_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scenario: Scenario
) -> None:
    at = 1
    while True:
        directory = tmp_path / str(at)
        directory.mkdir()
        log = new_log(directory, segment_bytes=2 * SIZE, index_interval_bytes=0)
        acknowledged: list[int] = []
        killer = _Kill(at)
        finished = False
        with killer.active(monkeypatch):
            try:
                scenario(log, acknowledged)
                finished = True
            except _KilledError:
                pass
        kill(log)
        _check(log, acknowledged, at)
        if finished:
            break
        at += 1
    assert at > 10


def _check(log: PartitionLog, acknowledged: list[int], at: int) -> None:
    aborted = log.aborted_transactions(0, log.log_end_offset)
    for start in ("first", "second"):
        again = reload(log, clean=False, log_start_offset=0)
        found = [first for first, _ in spans(everything(again))]
        assert set(acknowledged) <= set(found), (at, start)
        assert found == sorted(found), (at, start)
        assert again.log_end_offset >= log.log_end_offset, (at, start)
        assert set(aborted) <= set(again.aborted_transactions(0, again.log_end_offset))
        if acknowledged and 7 in [entry.producer_id for entry in log.producers]:
            assert again.producers.get(7) is not None, (at, start)
        append(again, batch(1))
        acknowledged = [*acknowledged, again.log_end_offset - 1]
        kill(again)
