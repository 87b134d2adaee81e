"""`headrace server stop` ends the node of a file, or all servers, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import headrace
from headrace.base.child_python import child_command
from headrace.cli import server_processes
from headrace.cli.main import main
from headrace.log.directory_lock import DirectoryLock, is_locked, locked_by
from headrace.server.config import development_properties
from headrace.testing import EmbeddedKafka


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


def test_a_bad_setting_keeps_no_node_from_being_stopped(
    properties: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open(properties, "a", encoding="utf-8") as file:
        file.write("num.partitions=many\n")
    assert refusal(capsys, properties) == f"No node is running in {tmp_path / 'data'}."
    elsewhere = ["server", "stop", properties, "--override", "log.dirs=/no/where"]
    assert main(elsewhere) == 1
    assert capsys.readouterr().err.strip() == "No node is running in /no/where."


@pytest.mark.parametrize("named", ["-1", "0", "1", "x", ""])
def test_a_lock_that_names_no_process_of_a_node(named: str, tmp_path: Path) -> None:
    lock = DirectoryLock(str(tmp_path))
    assert lock.acquire()
    (tmp_path / ".lock").write_text(named)
    assert is_locked(str(tmp_path))
    assert locked_by(str(tmp_path)) is None
    lock.release()
    assert not is_locked(str(tmp_path))


def test_a_lock_names_its_process_until_it_is_released(tmp_path: Path) -> None:
    lock = DirectoryLock(str(tmp_path))
    assert lock.acquire()
    lock.name_process()
    assert locked_by(str(tmp_path)) == os.getpid()
    lock.release()
    assert (tmp_path / ".lock").read_bytes() == b""


def test_a_link_in_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    treasure = tmp_path / "treasure"
    treasure.write_text("gold")
    (tmp_path / ".lock").symlink_to(treasure)
    with pytest.raises(OSError, match="symbolic links"):
        DirectoryLock(str(tmp_path)).acquire()
    assert treasure.read_text() == "gold"


class Server:
    """A node that is a process of its own, once it is up."""

    def __init__(self, *words: str) -> None:
        self.process = subprocess.Popen(
            child_command("headrace.cli.main", *words), stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        while not self.process.stdout.readline().startswith("Ctrl-C"):
            assert self.process.poll() is None

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.mark.skipif(not server_processes.can_be_told(), reason="open files are not told")
def test_without_a_file_every_server_stops_and_no_other_node(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    directories = [tmp_path / name for name in ("a", "b")]
    servers = [
        Server("up", "--node-only", "--port", "0", "--data", str(path)) for path in directories
    ]
    pids = [server.process.pid for server in servers]
    try:
        with EmbeddedKafka() as kafka, subprocess.Popen(["cat"], stdin=subprocess.PIPE) as cat:
            # Only these processes, or the test would stop the nodes of whoever runs it.
            known = [*pids, kafka.pid, cat.pid, os.getpid()]
            monkeypatch.setattr(server_processes, "process_ids", lambda: known)
            assert main(["server", "stop"]) == 0
            assert kafka.is_running
            assert cat.poll() is None
            cat.communicate()
        assert capsys.readouterr().out.splitlines() == [
            f"The node of {path} (process {pid}) has stopped."
            for path, pid in zip(directories, pids, strict=True)
        ]
        assert [server.process.wait(30) for server in servers] == [0, 0]
        assert main(["server", "stop"]) == 1
    finally:
        for server in servers:
            server.end()
    expected = "No node of this user is running on this machine."
    assert capsys.readouterr().err.strip() == expected


@pytest.mark.skipif(not server_processes.can_be_told(), reason="open files are not told")
def test_a_program_of_somebodys_with_a_node_inside_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "main.py").write_text(
        "import sys\n"
        "from headrace.testing import EmbeddedKafka\n"
        "with EmbeddedKafka(in_process=True, data_dir='data'):\n"
        "    print(flush=True)\n"
        "    sys.stdin.read()\n"
    )
    root = str(Path(headrace.__file__).parents[1])
    with subprocess.Popen(
        [sys.executable, "main.py", "server", "start"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": root},
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"\n"
        assert locked_by(str(tmp_path / "data")) == program.pid
        monkeypatch.setattr(server_processes, "process_ids", lambda: [program.pid])
        assert main(["server", "stop"]) == 1
        program.communicate()
    assert program.returncode == 0
    expected = "No node of this user is running on this machine."
    assert capsys.readouterr().err.strip() == expected


def test_overrides_say_nothing_without_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["server", "stop", "--override", "log.dirs=/data"]) == 2
    assert "name the file" in capsys.readouterr().err


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1", "soon"])
def test_a_time_to_wait_that_is_none(
    seconds: str, properties: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["server", "stop", properties, "--timeout", seconds])
    assert ended.value.code == 2
    assert "--timeout" in capsys.readouterr().err
