"""`headrace server stop` ends the node of a file and nothing else."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from headrace.cli.main import main
from headrace.log.directory_lock import DirectoryLock
from headrace.server.config import development_properties


@pytest.fixture
def properties(tmp_path: Path) -> str:
    path = tmp_path / "server.properties"
    given = development_properties(str(tmp_path / "data"), 9092)
    path.write_text("".join(f"{name}={value}\n" for name, value in given.items()))
    (tmp_path / "data").mkdir()
    return str(path)


def refusal(capsys: pytest.CaptureFixture[str], path: str) -> str:
    assert main(["server", "stop", path]) == 1
    return capsys.readouterr().err.strip()


def test_there_may_be_nothing_to_stop(
    properties: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = f"No node is running in {tmp_path / 'data'}."
    assert refusal(capsys, properties) == expected
    (tmp_path / "data" / ".lock").write_text("1")  # left by a node that was killed
    assert refusal(capsys, properties) == expected


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files are not told")
def test_a_process_that_does_not_have_the_lock_is_left_alone(
    properties: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = DirectoryLock(str(tmp_path / "data"))
    assert lock.acquire()
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as stranger:
        # As a node in another container would have it: the number means somebody else here.
        (tmp_path / "data" / ".lock").write_text(str(stranger.pid))
        said = refusal(capsys, properties)
        stranger.communicate()
    lock.release()
    assert "its process cannot be told from here" in said
    assert stranger.returncode == 0


def test_a_file_that_cannot_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    expected = "Cannot read /no/such.properties: No such file or directory."
    assert refusal(capsys, "/no/such.properties") == expected
