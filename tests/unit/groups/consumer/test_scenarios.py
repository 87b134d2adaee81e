"""Plays the scenarios beside this file.

`HEADRACE_REWRITE=1` writes what is printed into the files, to be read before it is believed.
"""

import os
from pathlib import Path

import pytest

from tests.unit.groups.consumer.scenario import played

SCENARIOS = sorted(Path(__file__).with_name("scenarios").glob("*.txt"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_scenario_goes_as_it_is_written(path: Path) -> None:
    written = path.read_text()
    now = played(written)
    if os.environ.get("HEADRACE_REWRITE"):
        path.write_text(now)
    else:
        assert now == written


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_it_goes_the_same_way_if_groups_are_converted_in_steps(path: Path) -> None:
    written = path.read_text()
    assert played(written, converted_at_once_max=0) == written
