"""Transactions over the wire go as they go with Apache Kafka, error by error.

The stories are those of `tests/unit/broker/transaction_scenarios`, with our answers in them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.client.config import ClientConfig
from headrace.client.connection import BlockingConnection
from headrace.protocol.apis import ApiKey, message_classes
from headrace.protocol.schema import Request
from tests.support.apache_kafka import ApacheKafka
from tests.support.transaction_talk import play

_UNIT = Path(__file__).parents[1] / "unit" / "broker" / "transaction_scenarios"
SCENARIOS = sorted(_UNIT.glob("*.txt"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_apache_kafka_tells_the_same_story(path: Path, apache: ApacheKafka) -> None:
    config = ClientConfig(bootstrap=(("127.0.0.1", apache.port),))
    connection = BlockingConnection(config.bootstrap[0], config)

    def call(request: Request, version: int | None) -> Any:
        answer = message_classes(ApiKey(type(request).api_key))[1]
        return connection.call(request, answer, version=version)

    told = path.read_text()
    try:
        assert play(told, call, f"{path.stem}-") == told
    finally:
        connection.close()
