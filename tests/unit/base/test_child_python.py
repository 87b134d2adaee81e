"""Other Pythons that this one starts: which files they take for modules, and which not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import headrace
from headrace.base.child_python import child_command
from headrace.cli.beside import REGISTRY, Beside
from headrace.testing import EmbeddedKafka
from tests.support.ports import free_port
from tests.support.readiness import eventually

_MARK = "import pathlib; pathlib.Path({path!r}).touch(); raise SystemExit(1)"


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory holds modules of somebody else's; one that is run leaves this file."""
    working, mark = tmp_path / "working", tmp_path / "was-run"
    working.mkdir()
    for name in ("queue", "json", "pickle", "headrace"):
        (working / f"{name}.py").write_text(_MARK.format(path=str(mark)))
    monkeypatch.chdir(working)
    # Where the tests find their modules must not depend on the working directory either.
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return mark


def test_files_in_the_working_directory_are_not_taken_for_modules(mark: Path) -> None:
    command = child_command("headrace.cli.main", "commands", "-o", "json")
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout)["program"] == "headrace"
    assert not mark.exists()


def test_an_embedded_node_starts_beside_such_files(mark: Path) -> None:
    with EmbeddedKafka() as kafka:
        assert kafka.topics() == []
    assert not mark.exists()


def test_a_service_of_up_starts_beside_such_files(mark: Path) -> None:
    port = free_port()
    beside = Beside()
    with EmbeddedKafka() as kafka:
        try:
            beside.start(REGISTRY, port, kafka.bootstrap_servers)
            (process,) = beside._running
            eventually(lambda: mark.exists() or process.poll() is not None or _is_open(port))
            assert process.poll() is None
        finally:
            beside.stop()
    assert not mark.exists()


def test_a_package_that_is_found_through_the_working_directory_is_passed_on(
    tmp_path: Path,
) -> None:
    """As in `cd src && python -m headrace.cli.main up`: a child, and a child of that."""
    shutil.copytree(
        Path(headrace.__file__).parent,
        tmp_path / "headrace",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    (tmp_path / "family.py").write_text(
        "import subprocess, sys, headrace\n"
        "from headrace.base.child_python import child_command\n"
        "print(headrace.__file__, sys.argv[1:], flush=True)\n"
        "left = int(sys.argv[1])\n"
        "left and subprocess.run(child_command('family', str(left - 1)), check=True)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-S", "-m", "family", "2"],  # without what is installed
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
        check=True,
    )
    package = tmp_path / "headrace" / "__init__.py"
    assert ran.stdout.splitlines() == [f"{package} {[str(left)]}" for left in (2, 1, 0)]


@pytest.mark.parametrize("elsewhere", [False, True])
def test_modules_beside_the_package_do_not_take_the_place_of_pythons_own(
    tmp_path: Path, elsewhere: bool
) -> None:
    """As a package that a program brings along, found by what the program does to its path."""
    vendor, other = tmp_path / "vendor", tmp_path / "other"
    shutil.copytree(
        Path(headrace.__file__).parent,
        vendor / "headrace",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    for name in ("queue", "runpy"):
        (vendor / f"{name}.py").write_text("raise SystemExit('not the one of Python')")
    (vendor / "family.py").write_text("import headrace, queue; print(headrace.__file__)")
    (other / "headrace").mkdir(parents=True)
    (other / "headrace" / "__init__.py").write_text("raise SystemExit('not the one of the parent')")
    parent = (
        f"import sys, subprocess, queue, runpy; sys.path.insert(0, {str(vendor)!r});"
        " from headrace.base.child_python import child_command;"
        " sys.exit(subprocess.run(child_command('family')).returncode)"
    )
    ran = subprocess.run(
        [sys.executable, "-P", "-c", parent],
        env={**os.environ, "PYTHONPATH": str(other) if elsewhere else ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stdout, ran.stderr) == (f"{vendor / 'headrace' / '__init__.py'}\n", "")


def _is_open(port: int) -> bool:
    from headrace.server.sockets import is_taken

    return is_taken(port)
