"""The same tool commands against two nodes, and what they print, made comparable.

A script has a command a line: a tool's class name and its arguments, `--bootstrap-server` left
out; a word `@controller` in it asks the controller instead. A line that begins with `!` must fail;
`<<<` gives the lines of standard input, separated by `|`. A line `# mask EXPRESSION` names what
differs from run to run; other comments are for readers.
"""

import re
import shlex
import time
from collections.abc import Iterable
from dataclasses import dataclass

from tests.support.node import Node
from tests.support.tool_jvm import ToolJvm

_MASK = "# mask "
_AT_CONTROLLER = "@controller"
#: Ids that are drawn anew for every cluster and topic.
_RANDOM_IDS = (r"TopicId: \S+", r"Cluster ?I[dD]: +\S+")

_CHANGES = re.compile(r"--(alter|create|delete)\b")
#: A broker answers from what it has read of the metadata log, which may be a moment behind.
_UNTIL_SHOWN_S = 0.3

#: Java's stack traces, and settings that only Headrace has.
_LEFT_OUT = ("\tat ", "  headrace.")


@dataclass(frozen=True, slots=True)
class Line:
    """One command and what came of it."""

    command: str
    exit_code: int
    output: list[str]
    errors: list[str]


def play(script: str, node: Node, tools: ToolJvm) -> list[Line]:
    """Run every command of a script."""
    texts = [text.strip() for text in script.strip().splitlines()]
    masked = [text.removeprefix(_MASK) for text in texts if text.startswith(_MASK)]
    lines: list[Line] = []
    for text in texts:
        if text.startswith("#"):
            continue
        if lines and _CHANGES.search(lines[-1].command):
            time.sleep(_UNTIL_SHOWN_S)
        line = _run(text, node, tools, (*_RANDOM_IDS, *masked))
        assert (line.exit_code != 0) == text.startswith("!"), (node.kind, line)
        lines.append(line)
    return lines


def _run(text: str, node: Node, tools: ToolJvm, masked: tuple[str, ...]) -> Line:
    command, _, stdin = text.removeprefix("! ").partition(" <<< ")
    tool, *args = shlex.split(command)
    at = 1 if tool == "ClusterTool" else 0  # The only one that wants its subcommand first.
    if _AT_CONTROLLER in args:
        args.remove(_AT_CONTROLLER)
        args[at:at] = ["--bootstrap-controller", f"127.0.0.1:{node.controller_port}"]
    else:
        args[at:at] = ["--bootstrap-server", node.bootstrap]
    done = tools.run(tool, *args, stdin=stdin.replace("|", "\n") if stdin else None, check=False)
    return Line(
        text,
        done.returncode,
        comparable(done.stdout, node, masked),
        comparable(done.stderr, node, masked),
    )


def comparable(text: str, node: Node, masked: Iterable[str] = ()) -> list[str]:
    """The lines without what differs from node to node, and without Java's stack traces."""
    text = text.replace(str(node.directory), "DIRECTORY")
    text = re.sub(rf"\b{node.port}\b", "PORT", text)
    text = re.sub(rf"\b{node.controller_port}\b", "CONTROLLER_PORT", text)
    for expression in masked:
        text = re.sub(expression, "...", text)
    return [line for line in text.splitlines() if not line.startswith(_LEFT_OUT)]
