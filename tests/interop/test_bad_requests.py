"""Questions about what is not there, and orders that make no sense: Apache's answers to them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.client.blocking import KafkaClient
from headrace.client.config import ClientConfig
from headrace.protocol.apis import ApiKey, message_classes
from headrace.protocol.schema import Request
from tests.support.apache_kafka import ApacheKafka
from tests.support.bad_requests import REQUESTS, TOPIC
from tests.support.headrace_node import HeadraceNode
from tests.support.message_json import to_json
from tests.support.node import Node
from tests.support.raw_producer import RawProducer, numbered_batch
from tests.support.workload import create_topic

pytestmark = pytest.mark.no_second_chance

#: Differ from node to node, or say the same in other words.
_NOT_COMPARED = {
    "throttleTimeMs",
    "topicId",
    "nodeEndpoints",
    "brokers",
    "clusterId",
    "sessionId",
    "errorMessage",
    "abortedTransactions",  # None of them: null or an empty list.
    "records",
}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeadraceNode]:
    with HeadraceNode(tmp_path_factory.mktemp("requests") / "data") as running:
        _prepare(running)
        yield running


@pytest.fixture(scope="module")
def peer(apache: ApacheKafka) -> ApacheKafka:
    _prepare(apache)
    return apache


def _prepare(node: Node) -> None:
    """A topic of two partitions with ten records in the first."""
    create_topic(node, TOPIC, 2)
    with RawProducer(node.bootstrap) as producer:
        assert producer.send(TOPIC, numbered_batch(0, 10)).error_code == 0


def _answer(node: Node, request: Request, version: int) -> Any:
    host, _, port = node.bootstrap.rpartition(":")
    _, answer = message_classes(ApiKey(request.api_key))
    config = ClientConfig(bootstrap=((host, int(port)),), request_timeout_ms=15_000)
    with KafkaClient(config) as client:
        return _comparable(
            to_json(client.any_node().call(request, answer, version=version), version)
        )


def _comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _comparable(v) for k, v in value.items() if k not in _NOT_COMPARED}
    if isinstance(value, list):
        # Answers about several things come in any order.
        ours = [one for one in value if not str(one).startswith("{'name': 'headrace.")]
        return sorted((_comparable(one) for one in ours), key=json.dumps)
    return value


@pytest.mark.parametrize("name", REQUESTS)
def test_the_answer_is_apaches(name: str, node: HeadraceNode, peer: ApacheKafka) -> None:
    request, version = REQUESTS[name]
    assert _answer(node, request, version) == _answer(peer, request, version)
