"""Which command lines start a node, and which only look like it."""

from __future__ import annotations

import pytest

from headrace.base.child_python import child_command
from headrace.cli.command_lines import starts_a_node


@pytest.mark.parametrize(
    "line",
    [
        "headrace up",
        "/usr/local/bin/headrace up --port 0",
        "headrace server start server.properties",
        "headrace server-start server.properties",
        "headrace kafka-server-start server.properties",
        "headrace kafka-server-start.sh server.properties",
        # The script that pip makes, as the system starts it.
        "/venv/bin/python3.11 /venv/bin/headrace up",
        "/usr/bin/python3 -sP /usr/bin/headrace server start server.properties",
        "python -m headrace.cli.main up",
        "python -mheadrace.cli.main up",
        "python3 -Pum headrace.cli.main server start server.properties",
        "python -X dev -W ignore -BXutf8 --check-hash-based-pycs never -m headrace.cli.main up",
        "pypy3 src/headrace/cli/main.py up",
        "python -O headrace/cli/main.py up",
    ],
)
def test_a_node_of_its_own(line: str) -> None:
    assert starts_a_node(line.split())


def test_a_node_that_one_of_our_processes_started() -> None:
    assert starts_a_node(child_command("headrace.cli.main", "up", "--port", "0"))
    assert not starts_a_node(child_command("headrace.testing.node_process"))
    assert not starts_a_node(child_command("headrace.cli.child", "headrace.cli.main", "up"))


@pytest.mark.parametrize(
    "line",
    [
        "python main.py server",
        "python main.py server start",
        "python app/main.py up",
        "python cli/main.py up",
        "python notheadrace/cli/main.py up",
        "python app.py headrace up",
        "python app.py -m headrace.cli.main up",
        "python -m app headrace server start",
        "python -m app -m headrace.cli.main up",
        "python -c pass root headrace.cli.main up",
        "python -W headrace up",
        "python - headrace up",
        "python -m",
        "python",
        "pytest -k headrace up",
        "less /usr/bin/headrace up",
        "sh -c headrace up",
        "headrace",
        "headrace server",
        "headrace server stop",
        "headrace server-stop",
        "headrace topics server start",
        "headrace topics up",
        "headrace schema-registry start registry.properties",
        "headrace --version up",
    ],
)
def test_what_only_looks_like_one(line: str) -> None:
    assert not starts_a_node(line.split())


def test_a_process_without_a_command_line() -> None:
    assert not starts_a_node([""])
