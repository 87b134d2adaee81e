"""Dispatch, help and failures of the `headrace` command."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.cli.absent_tools import ABSENT_TOOLS
from headrace.cli.main import main, overview
from headrace.cli.tools import THEMES, find_command
from headrace.server import structured_log
from headrace.testing import EmbeddedKafka

TOOLS_PAGE = (Path(__file__).parents[3] / "docs" / "tools.md").read_text()
#: A child sees the package where this process does, installed or not.
CHILD_ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def test_help_lists_every_tool_with_one_line() -> None:
    text = overview()
    for tools in THEMES.values():
        for tool in tools:
            assert f"  {tool.name:<20} {tool.summary}" in text


@pytest.mark.parametrize(
    ("tool", "scripts"), re.findall(r"^\| `([a-z0-9-]+)` \|.*\|(.*)\|$", TOOLS_PAGE, re.M)
)
def test_every_name_that_the_documents_list_is_understood(tool: str, scripts: str) -> None:
    names = {tool, *re.findall(r"`(.+?)`", scripts)}
    for name in {name.removeprefix("kafka-").removesuffix(".sh") for name in names}:
        for written in (name, f"kafka-{name}", f"{name}.sh", f"kafka-{name}.sh"):
            command = find_command(written)
            assert command is not None, written
            assert command[0].name == tool
            # A script that starts or stops something is an action here.
            assert command[1] == ([] if name == tool else [name.rpartition("-")[2]])


def test_a_server_starts_and_stops_by_the_names_of_kafkas_scripts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(structured_log, "configure_logging", lambda *_, **__: None)
    assert main(["kafka-server-start.sh", "/no/such.properties"]) == 1
    assert main(["kafka-server-stop.sh", "/no/such.properties"]) == 1
    said = capsys.readouterr().err.splitlines()
    assert said == ["Cannot read /no/such.properties: No such file or directory."] * 2


def test_the_flag_daemon_of_kafkas_script_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["kafka-server-start.sh", "-daemon", "server.properties"])
    assert ended.value.code == 2
    assert "it serves in the foreground and knows no -daemon" in capsys.readouterr().err


@pytest.mark.parametrize("name", ABSENT_TOOLS)
def test_a_tool_that_is_not_there_says_why(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for written in (name, f"kafka-{name}.sh"):
        assert main([written, "--bootstrap-server", "localhost:9092"]) == 1
        said = capsys.readouterr().err
        assert said == f"headrace: there is no {name} yet: {ABSENT_TOOLS[name]}.\n"


def test_a_misspelt_tool_is_told_with_a_guess(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topisc"]) == 2
    assert "Did you mean topics?" in capsys.readouterr().err


def test_usage_errors_have_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topics", "--list", "--create"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "exactly one action" in captured.err
    with pytest.raises(SystemExit) as caught:
        main(["topics", "--no-such-option"])
    assert caught.value.code == 2


def test_a_failure_is_one_sentence_without_a_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEADRACE_DEBUG", raising=False)
    monkeypatch.setattr("headrace.client.blocking.BOOTSTRAP_WAIT_MS", 0)
    assert main(["topics", "--list", "--bootstrap-server", "nonsense"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "Traceback" not in error


def test_headrace_debug_shows_where(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_DEBUG", "1")
    assert main(["topics", "--list", "--bootstrap-server", "nonsense"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_the_command_tree_is_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["commands", "-o", "json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    by_name = {command["name"]: command for command in tree["commands"]}
    assert set(by_name) == {tool.name for tools in THEMES.values() for tool in tools}
    flags = {flag for option in by_name["topics"]["options"] for flag in option["flags"]}
    assert {"--create", "--bootstrap-server", "--if-not-exists", "-o"} <= flags
    storage = {command["name"] for command in by_name["storage"]["commands"]}
    assert {"format", "info", "random-uuid"} <= storage


@pytest.mark.parametrize("tool", [tool.name for tools in THEMES.values() for tool in tools])
def test_every_tool_has_help(tool: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([tool, "--help"])
    assert caught.value.code == 0
    assert f"usage: headrace {tool}" in capsys.readouterr().out


def test_listing_topics_imports_nothing_heavy() -> None:
    """Start-up time is a feature: what is not imported costs nothing."""
    heavy = ("asyncio", "confluent_kafka", "numpy", "lz4", "cramjam", "uvloop", "json", "logging")
    program = (
        "import sys; from headrace.cli import main, topics\n"
        "from headrace.client import blocking\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=CHILD_ENVIRONMENT,
    )
    assert done.stdout.strip() == "[]"


def test_a_closed_pipe_is_no_error() -> None:
    program = (
        "import sys; from headrace.cli.main import main\nsys.exit(main(['commands', '-o', 'json']))"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=CHILD_ENVIRONMENT,
    )
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    error = child.stderr.read()
    child.stderr.close()
    assert child.wait(30) in (0, 141)
    assert error == b""


def test_a_mistyped_flag_is_one_sentence_with_a_guess(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["topics", "--lst"])
    assert ended.value.code == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == "headrace topics: unrecognized arguments: --lst. Did you mean --list?"
    assert second == "Type `headrace topics --help` for the options."


@pytest.mark.parametrize(
    "program",
    [
        "from headrace.cli.main import main; sys.exit(main(['up']))",
        "from headrace.cli.main import main; sys.exit(main(['topics', '--list']))",
        "from headrace.testing import EmbeddedKafka; EmbeddedKafka().start()",
    ],
)
def test_windows_is_told_in_one_sentence_what_to_do(program: str) -> None:
    missing = ("fcntl", "grp", "pwd", "resource", "termios", "uvloop")
    as_windows = f"import subprocess, sys; sys.modules.update(dict.fromkeys({missing}))"
    done = subprocess.run(
        [sys.executable, "-c", f"{as_windows}; sys.platform = 'win32'; {program}"],
        env=CHILD_ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    said = done.stderr.splitlines()[-1]
    assert "on Windows install WSL" in said
    assert said.endswith(".")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["up", "--log-level", "7x"], 1, "There is no log level '7x'"),
        (["schema-registry", "start", "/dev/null", "--log-level", "x"], 1, "There is no log level"),
        (
            ["server", "start", "f", "--log-level", "nonsense"],
            1,
            "There is no log level 'nonsense'",
        ),
        (["doctor", "--bootstrap-server", ""], 1, "No bootstrap server is given"),
        (["doctor", "--bootstrap-server", "a..b:9092"], 1, "The name a..b cannot be resolved."),
        (["doctor", "-c", "/"], 1, "Cannot read /: Is a directory."),
        (["dump-log", "--files", "/dev/null,/"], 1, "/dev/null does not exist or is not a file."),
        (
            ["console-consumer", "--topic", "t", "--partition", "0", "--offset", "9" * 20],
            2,
            "The provided offset value",
        ),
    ],
)
def test_what_makes_no_sense_is_a_sentence(
    arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == code
    captured = capsys.readouterr()
    assert said in captured.out + captured.err
    assert "Unexpected" not in captured.err
    assert "Traceback" not in captured.err


def test_a_number_that_no_message_can_carry_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with EmbeddedKafka(in_process=True) as kafka:
        server = ("--bootstrap-server", kafka.bootstrap_servers)
        many = ("--topic", "t", "--partitions", str(2**40))
        assert main(["topics", "--create", *many, *server]) == 1
    assert capsys.readouterr().err.startswith("A number is out of the range that Kafka has for it")
