"""The demo of the order example without anybody watching, shorter than for people."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.orders.demo.__main__ import is_settled, searched
from examples.orders.demo.audit import Outcome, problems
from examples.orders.demo.ledger import Reader
from examples.orders.demo.stage import Stage
from examples.orders.load import Load
from examples.orders.topics import Values
from tests.support.readiness import eventually
from tests.support.tools import REPOSITORY, require_java

pytestmark = pytest.mark.timeout(600)

SECONDS_MAX = 240.0
MARK = "HEADRACE_DEMO_OF_TEST"


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Whatever the demo starts inherits a mark, by which it is found if it stays behind."""
    require_java()
    environment = {
        **os.environ,
        MARK: str(tmp_path),
        "TMPDIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([str(REPOSITORY / "src"), *sys.path]),
    }
    yield environment
    eventually(lambda: marked(tmp_path) == [])
    assert list(tmp_path.glob("headrace-demo-*")) == []


def marked(directory: Path) -> list[str]:
    """The command lines of living processes that have the mark."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={directory}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:  # it has just ended, or is not ours
            continue
    return found


def demo(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "examples.orders.demo", *arguments]


def test_the_demo_accounts_for_every_order_and_leaves_nothing(
    environment: dict[str, str],
) -> None:
    done = subprocess.run(
        demo("--seconds", "10", "--rate", "20"),
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
        cwd=REPOSITORY,
        env=environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "200 orders posted, each accounted for once" in done.stdout
    assert "600 checks, 200 decisions, 200 mails, 200 orders in the search view" in done.stdout
    assert done.stderr == ""


@pytest.mark.no_second_chance
def test_pipelines_that_are_killed_lose_no_order_and_double_none(tmp_path: Path) -> None:
    """Of driver and JVM at once, in the middle of the flow; the next start goes on."""
    require_java()
    stop = threading.Event()
    stage = Stage(tmp_path, stop)
    try:
        stage.start(print)
        reader = Reader(stage.bootstrap, Values(stage.registry))
        reader.start()
        load = Load(stage.service, 20)
        posting = threading.Thread(target=load.run, args=(30, stop))
        posting.start()
        eventually(lambda: reader.ledger.states["VALIDATED"] > 0, timeout=SECONDS_MAX)
        stage.processes.kill("pipelines")
        stage.start_pipelines()
        posting.join()

        def has_settled() -> bool:
            stage.check()
            counts = len(load.posted), stage.mails.total(), stage.search.count()
            return is_settled(reader.ledger, *counts)

        eventually(has_settled, timeout=SECONDS_MAX)
        stage.processes.stop("pipelines")
        reader.stop()
        found = searched(stage.service)
        assert len(load.posted) == 600
        assert problems(Outcome(load.posted, reader.ledger, stage.mails, *found)) == []
    finally:
        stop.set()
        stage.close()


def test_a_demo_that_is_interrupted_leaves_nothing(environment: dict[str, str]) -> None:
    process = subprocess.Popen(
        demo("--seconds", "600"),
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env=environment,
    )
    assert process.stdout is not None
    with process.stdout as lines:
        # The services are up, and Spark is about to start.
        assert any("the orders service" in line for line in lines)
        process.send_signal(signal.SIGINT)
        assert "All processes have ended." in lines.read()
    assert process.wait(60) == 130


def test_a_demo_without_java_says_so_in_its_first_line(
    environment: dict[str, str], tmp_path: Path
) -> None:
    done = subprocess.run(
        demo(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=REPOSITORY,
        env={**environment, "PATH": str(tmp_path), "JAVA_HOME": ""},
    )
    assert done.returncode == 1
    assert done.stdout.startswith("Spark needs Java 17 or newer")
    assert done.stdout.count("\n") == 1
