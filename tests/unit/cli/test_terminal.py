"""Tables are pleasant on a terminal, and exactly Kafka's in a pipe."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.unit.cli.test_main import CHILD_ENVIRONMENT
from tests.unit.cli.test_topics import describing
from tests.unit.client.scripted_broker import ScriptedBroker

KAFKAS_LINES = (
    "Topic: orders\tTopicId: AAECAwQFBgcICQoLDA0ODw\tPartitionCount: 2\tReplicationFactor: 2"
    "\tConfigs: min.insync.replicas=2,retention.ms=5\n"
    "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\tElr: \tLastKnownElr: \n"
    "\tTopic: orders\tPartition: 1\tLeader: none\tReplicas: 1,2\tIsr: 2"
    "\tAdding Replicas: 3\tRemoving Replicas: \tElr: \tLastKnownElr: \n"
)
COLOURED = {name: text for name, text in CHILD_ENVIRONMENT.items() if name != "NO_COLOR"}


@pytest.fixture
def command() -> Iterator[list[str]]:
    """`topics --describe` of a topic with a partition that has no leader and lacks a replica."""
    with ScriptedBroker() as broker:
        broker.topics = {"orders": 2}
        describing(broker)
        program = "import sys; from headrace.cli.main import main; sys.exit(main(sys.argv[1:]))"
        tool = ("topics", "--describe", "--topic", "orders", "--bootstrap-server", broker.address)
        yield [sys.executable, "-c", program, *tool]


def on_a_terminal(command: list[str], **environment: str) -> str:
    """What a command prints on a terminal of its own."""
    ours, its = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        child = subprocess.Popen(
            command, stdout=its, env={**COLOURED, "TERM": "xterm", **environment}
        )
        os.close(its)
        printed = b""
        try:
            while data := terminal.read(65536):
                printed += data
        except OSError:  # Linux's way to say that nobody has the other side open any more
            pass
        assert child.wait(30) == 0
    return printed.decode().replace("\r\n", "\n")


def test_a_terminal_gets_aligned_columns_and_what_is_wrong_in_red(command: list[str]) -> None:
    printed = on_a_terminal(command)
    assert re.findall("\x1b\\[31m([^\x1b]*)", printed) == ["Leader: none", "Isr: 2"]
    assert "\x1b[1morders\x1b[0m" in printed
    _, first, second = re.sub("\x1b\\[[0-9]*m", "", printed).splitlines()
    for name in ("Partition:", "Leader:", "Replicas:", "Isr:"):
        assert first.index(name) == second.index(name)
    words = " ".join(re.sub("\x1b\\[[0-9]*m", "", printed).split())
    assert words == " ".join(KAFKAS_LINES.split())


def test_a_pipe_gets_kafkas_bytes(command: list[str]) -> None:
    done = subprocess.run(command, env=COLOURED, capture_output=True, check=True)
    assert done.stdout.decode() == KAFKAS_LINES


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_a_terminal_that_wants_no_colours_gets_none(
    command: list[str], environment: dict[str, str]
) -> None:
    # A terminal may print a tab as blanks; the words are what counts.
    assert on_a_terminal(command, **environment).split() == KAFKAS_LINES.split()
