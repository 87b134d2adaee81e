"""Plays the scenarios beside this file: commands after `>`, what they print below them.

`HEADRACE_REWRITE=1` writes what is printed into the files, to be read before it is believed.
"""

import os
from pathlib import Path

import pytest

from tests.unit.groups.story import Story

SCENARIOS = sorted(Path(__file__).with_name("scenarios").glob("*.txt"))


def played(text: str) -> str:
    """The scenario with what its commands print now."""
    story = Story()
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("> "):
            lines.append(line)
            lines += story.play(line.removeprefix("> "))
        elif not line or line.startswith("#"):
            lines.append(line)
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_story_goes_as_it_is_written(path: Path) -> None:
    written = path.read_text()
    now = played(written)
    if os.environ.get("HEADRACE_REWRITE"):
        path.write_text(now)
    else:
        assert now == written
