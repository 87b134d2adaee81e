"""A crash at any step of swapping compacted segments in costs nothing."""

import os
from contextlib import suppress
from pathlib import Path

import pytest

from headrace.log.cleaner.candidates import make_job
from headrace.log.cleaner.run import run
from headrace.log.partition_log import PartitionLog
from tests.unit.log.cleaner.samples import (
    MAP_BYTES,
    compact,
    compacted_log,
    contents,
    look,
    put,
    replayed,
    roll,
    swap_in,
)
from tests.unit.log.samples import NOW, kill, reload


class CrashError(BaseException):
    """The power went."""


def log_in_two_groups(directory: Path) -> PartitionLog:
    """Four segments whose sizes allow two to be cleaned into one."""
    log = compacted_log(directory)
    for n in range(4):
        for key in range(5):
            put(log, (b"%d-%d" % (n % 3, key), b"%d" % n))
        roll(log)
    size = log.segments[0].size
    log.config = type(log.config)(
        cleanup_policy=log.config.cleanup_policy, segment_bytes=2 * size + 10
    )
    return log


def steps_of_a_swap(directory: Path, monkeypatch: pytest.MonkeyPatch, crash_at: int) -> int:
    """Swap until the given rename; how many renames there were."""
    log = log_in_two_groups(directory)
    state, before = replayed(log), contents(log)
    job = make_job(look(log), NOW, MAP_BYTES)
    result = run(job)
    assert len(result.segments) == 2
    renames = 0
    rename = os.rename

    def counted(source: str, target: str) -> None:
        nonlocal renames
        if renames == crash_at:
            raise CrashError
        renames += 1
        rename(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", counted)
        with suppress(CrashError):
            swap_in(log, job, result)
    kill(log)

    again = reload(log, clean=False, recovery_point=0)
    assert replayed(again) == state
    assert set(contents(again)) <= set(before)
    offsets = [offset for offset, _, _ in contents(again)]
    assert offsets == sorted(set(offsets))
    assert again.log_end_offset == 20
    leftovers = {".cleaned", ".swap", ".deleted"}
    assert not [n for n in os.listdir(again.directory) if os.path.splitext(n)[1] in leftovers]
    compact(again)
    assert replayed(again) == state
    kill(again)
    return renames


def test_a_crash_at_any_rename_of_a_swap_is_recovered_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    count = steps_of_a_swap(whole, monkeypatch, crash_at=-1)
    assert count > 15
    for crash_at in range(count):
        directory = tmp_path / str(crash_at)
        directory.mkdir()
        assert steps_of_a_swap(directory, monkeypatch, crash_at) == crash_at
