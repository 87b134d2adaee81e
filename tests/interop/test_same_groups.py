"""Groups over the wire go as they go with Apache Kafka, error by error.

The stories are those of `tests/unit/broker/group_scenarios`, with our answers in them.
"""

from pathlib import Path
from time import sleep
from typing import Any

import pytest

from headrace.client.config import ClientConfig
from headrace.client.connection import BlockingConnection
from headrace.protocol.apis import ApiKey, message_classes
from headrace.protocol.schema import Request
from tests.support.apache_kafka import ApacheKafka
from tests.support.group_talk import GroupTalk

_UNIT = Path(__file__).parents[1] / "unit" / "broker" / "group_scenarios"
SCENARIOS = sorted(_UNIT.glob("*.txt"))


class WireLine:
    """A client of a real node."""

    def __init__(self, port: int, name: str) -> None:
        config = ClientConfig(bootstrap=(("127.0.0.1", port),), client_id=name)
        self._connection = BlockingConnection(config.bootstrap[0], config)
        self._answers: list[type[Any]] = []

    def send(self, request: Request, version: int) -> None:
        self._answers.append(message_classes(ApiKey(type(request).api_key))[1])
        self._connection.post(request, version=version)

    def take(self) -> Any:
        return self._connection.take(self._answers.pop(0))

    def close(self) -> None:
        self._connection.close()


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_apache_kafka_tells_the_same_story(path: Path, apache: ApacheKafka) -> None:
    lines: list[WireLine] = []

    def open_line(name: str) -> WireLine:
        lines.append(WireLine(apache.port, name))
        return lines[-1]

    told = path.read_text()
    try:
        talk = GroupTalk(open_line, f"{path.stem}.", settle=lambda: sleep(0.3))
        assert talk.play(told) == told
    finally:
        for line in lines:
            line.close()
