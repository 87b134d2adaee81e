"""Whether the command line of a process is one that starts a node.

Only what is run counts: words like ours among the arguments of another program mean nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from headrace.base.child_python import PROGRAM
from headrace.cli.tools import find_command

_MODULE = "headrace.cli.main"
_SCRIPT = "headrace/cli/main.py"
#: Options of Python with a value, perhaps behind some without one: it may be the next word, too.
_WITH_VALUE = re.compile("-[^-cmWX]*([cmWX])(.*)|(--check-hash-based-pycs)()", re.DOTALL)


def starts_a_node(words: Sequence[str]) -> bool:
    """Whether this is `headrace up`, `headrace server start`, or that under Kafka's name."""
    name, *arguments = _given_to_headrace(words) or [""]
    command = find_command(name)
    if command is None:
        return False
    tool, implied = command
    return tool.name == "up" or (tool.name, *implied, *arguments)[:2] == ("server", "start")


def _given_to_headrace(words: Sequence[str]) -> list[str] | None:
    program, *rest = words
    name = os.path.basename(program)
    if name == "headrace":
        return rest
    return _given_to_python(rest) if name.startswith(("python", "pypy")) else None


def _given_to_python(words: list[str]) -> list[str] | None:
    """The arguments of `headrace`, if it is the program behind the options of the interpreter."""
    while words:
        word, *words = words
        if word == "-" or not word.startswith("-"):
            return words if _is_script_of_ours(word) else None
        if option := _WITH_VALUE.fullmatch(word):
            letter, value = option[1], option[2]
            if not value:
                value, words = "".join(words[:1]), words[1:]
            if letter == "m":
                return words if value == _MODULE else None
            if letter == "c":
                # As `child_command` has it: where the package is, and what to run of it.
                is_ours = value == PROGRAM and words[1:2] == [_MODULE]
                return words[2:] if is_ours else None
    return None


def _is_script_of_ours(path: str) -> bool:
    return os.path.basename(path) == "headrace" or f"/{path}".endswith(f"/{_SCRIPT}")
