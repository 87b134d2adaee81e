"""Transactions over the wire, as stories; Apache Kafka is asked the same in the interop tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.transaction_talk import play
from tests.unit.broker.harness import Broker

SCENARIOS = sorted(Path(__file__).with_name("transaction_scenarios").glob("*.txt"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_a_scenario_goes_as_it_is_told(path: Path, broker: Broker) -> None:
    told = path.read_text()
    assert play(told, broker.ask, f"{path.stem}-", broker.clock.wall_ms) == told


def test_there_are_scenarios() -> None:
    assert len(SCENARIOS) >= 8
