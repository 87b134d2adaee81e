"""Records that cannot be read go to a dead-letter topic with the reason, and are counted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.serde.registry_client import RegistryClient
from headrace.serde.schema import Schema
from headrace.serde.serializer import Serializer
from headrace.spark.registry.clients import close_clients
from headrace.testing import EmbeddedKafka
from tests.support.small_registry import SmallRegistry, small_registry

ORDER = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]})


@pytest.fixture
def registry() -> Iterator[SmallRegistry]:
    with small_registry() as found:
        yield found
        close_clients()


def fill(node: EmbeddedKafka, registry: SmallRegistry) -> None:
    admin = AdminClient({"bootstrap.servers": node.bootstrap_servers})
    made = admin.create_topics([NewTopic(name, 1, 1) for name in ("orders", "orders.dlq", "good")])
    for future in made.values():
        future.result()
    client = RegistryClient.from_settings({"schema.registry.url": registry.url})
    write = Serializer(client, Schema(ORDER))
    producer = Producer({"bootstrap.servers": node.bootstrap_servers})
    values = [write("orders", {"id": n}) for n in range(4)]
    values[1:1] = [b"poison"]
    values.append(values[0][:5] if values[0] else None)
    for number, value in enumerate(values):
        producer.produce("orders", value, b"k%d" % number, headers=[("trace", b"t%d" % number)])
    assert producer.flush(30) == 0
    client.close()


def test_a_stream_sets_undecodable_records_apart(
    spark: Any, node: EmbeddedKafka, registry: SmallRegistry, tmp_path: Path
) -> None:
    from headrace.spark.registry.dead_letters import dead_letters, split_dead_letters
    from headrace.spark.registry.functions import with_registry

    fill(node, registry)
    servers = {"kafka.bootstrap.servers": node.bootstrap_servers}
    events = (
        spark.readStream.format("headrace")
        .options(**servers, subscribe="orders", startingOffsets="earliest", includeHeaders="true")
        .load()
    )
    decoded = with_registry(events, into="order", topic="orders", url=registry.url)
    good, bad = split_dead_letters(decoded, "order_error")
    letters = dead_letters(bad, topic="orders.dlq", error="order_error")
    query = (
        letters.writeStream.format("headrace")
        .options(**servers, checkpointLocation=str(tmp_path / "dead"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    counted = [
        one["observedMetrics"]["order"] for one in query.recentProgress if one["numInputRows"]
    ]
    assert [(one["rows"], one["undecodable"]) for one in counted] == [(6, 2)]

    kept = (
        good.selectExpr("key", "cast(order.id as string) as value")
        .writeStream.format("headrace")
        .options(**servers, topic="good", checkpointLocation=str(tmp_path / "good"))
        .trigger(availableNow=True)
        .start()
    )
    assert kept.awaitTermination(120)

    def read(topic: str) -> list[Any]:
        loaded = spark.read.format("kafka").options(
            **servers, subscribe=topic, includeHeaders="true"
        )
        rows: list[Any] = loaded.load().orderBy("offset").collect()
        return rows

    assert [bytes(row.value) for row in read("good")] == [b"0", b"1", b"2", b"3"]
    first, second = read("orders.dlq")
    assert (bytes(first.key), bytes(first.value)) == (b"k1", b"poison")
    headers = {one.key: bytes(one.value).decode() for one in first.headers}
    reason = headers.pop("__connect.errors.exception.message")
    assert "magic byte" in reason
    assert headers == {
        "trace": "t1",
        "__connect.errors.topic": "orders",
        "__connect.errors.partition": "0",
        "__connect.errors.offset": "1",
        "__connect.errors.stage": "VALUE_CONVERTER",
        "__connect.errors.exception.class.name": "headrace.serde.errors.SerdeError",
    }
    assert bytes(second.key) == b"k5"
