"""Plays the scenarios of `group_scenarios`, which Apache Kafka plays too (see interop).

`HEADRACE_REWRITE=1` writes what is answered into the files, to be read before it is believed.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from headrace.protocol.schema import Request
from tests.support.group_talk import GroupTalk
from tests.unit.broker.frames import Exchange
from tests.unit.broker.harness import Broker

SCENARIOS = sorted(Path(__file__).with_name("group_scenarios").glob("*.txt"))


class BrokerLine:
    """A client of the broker under test."""

    def __init__(self, broker: Broker, name: str) -> None:
        self._broker = broker
        self._name = name
        self._sent: list[Exchange] = []

    def send(self, request: Request, version: int) -> None:
        self._sent.append(self._broker.send(request, version, client_id=self._name))

    def take(self) -> Any:
        exchange = self._sent.pop(0)
        self._broker.advance(1)
        return exchange.response


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_story_goes_as_it_is_written(path: Path, tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"offsets.topic.num.partitions": "1"})
    written = path.read_text()
    talk = GroupTalk(lambda name: BrokerLine(broker, name), f"{path.stem}.")
    now = talk.play(written)
    broker.close()
    if os.environ.get("HEADRACE_REWRITE"):
        path.write_text(now)
    else:
        assert now == written
