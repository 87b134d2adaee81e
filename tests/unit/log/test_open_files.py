"""Files behind a cap."""

import errno
import os
from pathlib import Path

import pytest

from headrace.log.config import LogConfig
from headrace.log.loading import create_log
from headrace.log.open_files import OpenFile, OpenFiles
from tests.unit.log.samples import NOW, TOPIC_ID, append, batch, everything, spans


def _open_count() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors in /proc")
def test_many_partitions_share_a_few_descriptors(tmp_path: Path) -> None:
    files = OpenFiles(5)
    before = _open_count()
    logs = [
        create_log(
            str(tmp_path / f"t-{n}"),
            "t",
            n,
            topic_id=TOPIC_ID,
            config=LogConfig(),
            files=files,
            now_ms=NOW,
        )
        for n in range(60)
    ]
    for _ in range(3):
        for log in logs:
            append(log, batch(2))
    assert _open_count() - before <= 5
    assert len(files) <= 5
    for log in logs:
        assert spans(everything(log)) == [(0, 1), (2, 3), (4, 5)]
        log.close()
    assert _open_count() == before


def test_a_file_in_use_outlives_one_that_nobody_uses(tmp_path: Path) -> None:
    files = OpenFiles(2)
    busy, idle, new = (OpenFile(str(tmp_path / name)) for name in ("busy", "idle", "new"))
    files.open(busy)
    files.open(idle)
    busy.used, idle.used = True, False
    files.open(new)
    assert busy.fd >= 0
    assert idle.fd == -1


def test_room_is_made_when_the_process_runs_out_of_descriptors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = OpenFiles(100)
    first, second = OpenFile(str(tmp_path / "first")), OpenFile(str(tmp_path / "second"))
    files.open(first)
    first.used = False
    real = os.open

    def scarce(path: str, flags: int, mode: int) -> int:
        if first.fd >= 0:
            raise OSError(errno.EMFILE, "Too many open files")
        return real(path, flags, mode)

    monkeypatch.setattr(os, "open", scarce)
    assert files.open(second) >= 0
    assert first.fd == -1
    files.close(second)


def test_the_limit_leaves_room_for_sockets() -> None:
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert 16 <= OpenFiles.for_process().limit <= max(soft // 2, 16)
