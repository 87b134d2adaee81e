"""Transactions as stories; see `transcript` for the language."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.transactions.transcript import play

SCENARIOS = sorted(Path(__file__).with_name("scenarios").glob("*.txt"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_a_scenario_goes_as_it_is_told(path: Path) -> None:
    told = path.read_text()
    assert play(told) == told


def test_there_are_scenarios() -> None:
    assert len(SCENARIOS) >= 8
