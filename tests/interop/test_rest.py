"""The REST proxy on Apache Kafka: the same requests, the same answers."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.clients.rest import Rest
from tests.support.apache_kafka import ApacheKafka
from tests.support.headrace_node import HeadraceNode
from tests.support.node import Node
from tests.support.rest_server import rest_server
from tests.support.small_registry import small_registry
from tests.support.tools import require_java

AVRO = '{"type":"record","name":"Order","fields":[{"name":"id","type":"int"}]}'


@pytest.fixture(params=[HeadraceNode, ApacheKafka], ids=["headrace", "apache"])
def rest(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rest]:
    require_java()
    settings = {
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": "1",
        "group.initial.rebalance.delay.ms": "0",
    }
    kind: Any = request.param
    with kind(tmp_path / "data", settings=settings) as found, small_registry() as registry:
        node = cast(Node, found)
        proxy = {"bootstrap.servers": node.bootstrap, "schema.registry.url": registry.url}
        with rest_server(proxy) as server:
            client = Rest(server.url)
            yield client
            client.close()


def test_produce_consume_and_administer(rest: Rest) -> None:
    topics = f"{rest.cluster}/topics"
    body = {"topic_name": "orders", "partitions_count": 2, "replication_factor": 1}
    assert rest.ask("POST", topics, body).status_code == 201
    assert rest.error("POST", topics, body) == (400, 40002)

    answer = rest.produce("orders", "avro", [{"value": {"id": 1}}] * 100, value_schema=AVRO)
    assert [one["error_code"] for one in answer.json()["offsets"]] == [None] * 100
    line = json.dumps({"partition_id": 1, "value": {"data": {"id": 2}}})
    answers = rest.stream("orders", "\n".join([line] * 50).encode())
    assert [one["error_code"] for one in answers] == [200] * 50

    path = rest.instance("readers", format="avro", name="one")
    assert rest.ask("POST", f"{path}/subscription", {"topics": ["orders"]}).status_code == 204
    values = [one["value"]["id"] for one in rest.records(path, "avro", 150)]
    assert sorted(values) == [1] * 100 + [2] * 50
    assert rest.ask("POST", f"{path}/offsets").status_code == 200
    summary = rest.ask("GET", f"{rest.cluster}/consumer-groups/readers/lag-summary").json()
    assert summary["total_lag"] == 0
    assert rest.ask("DELETE", path).status_code == 204

    changes = {"data": [{"name": "retention.ms", "value": "5000"}]}
    assert rest.ask("POST", f"{topics}/orders/configs:alter", changes).status_code == 204
    setting = rest.ask("GET", f"{topics}/orders/configs/retention.ms").json()
    assert (setting["value"], setting["source"]) == ("5000", "DYNAMIC_TOPIC_CONFIG")
    assert rest.ask("DELETE", f"{topics}/orders").status_code == 204
    assert rest.error("GET", f"{topics}/orders") == (404, 40403)
