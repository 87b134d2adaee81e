"""Values that the source decodes while it reads are those that a function over them gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.serde.registry_client import RegistryClient
from headrace.serde.schema import JSON, Schema
from headrace.serde.serializer import Serializer
from headrace.spark.registry.clients import close_clients
from headrace.testing import EmbeddedKafka
from tests.support.small_registry import SmallRegistry, small_registry

OLD = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}
NEW = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
    ],
}
PERSON = '{"type":"object","properties":{"name":{"type":"string"}}}'


@pytest.fixture
def registry() -> Iterator[SmallRegistry]:
    with small_registry() as found:
        yield found
        close_clients()


def fill(node: EmbeddedKafka, topic: str, values: list[bytes | None], codec: str) -> None:
    admin = AdminClient({"bootstrap.servers": node.bootstrap_servers})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()
    settings = {"bootstrap.servers": node.bootstrap_servers, "compression.type": codec}
    producer = Producer(settings)
    for number, value in enumerate(values):
        producer.produce(topic, value, b"%d" % number)
    assert producer.flush(30) == 0


@pytest.mark.parametrize("codec", ["none", "lz4"])
@pytest.mark.parametrize("kind", ["avro", "json"])
def test_the_source_decodes_as_the_function_does(
    spark: Any, node: EmbeddedKafka, registry: SmallRegistry, kind: str, codec: str
) -> None:
    from headrace.spark.registry.functions import with_registry
    from headrace.spark.registry.read_columns import decoded_values

    client = RegistryClient.from_settings({"schema.registry.url": registry.url})
    topic = f"read-{kind}-{codec}"
    values: list[bytes | None] = []
    if kind == "avro":
        old, new = (Serializer(client, Schema(json.dumps(one))) for one in (OLD, NEW))
        for number in range(200):
            values.append(old(topic, {"id": number}))
            values.append(new(topic, {"id": 2**40 + number, "note": "ñ" * (number % 5) or None}))
    else:
        write = Serializer(client, Schema(PERSON, JSON))
        values += [write(topic, {"name": f"n{number}"}) for number in range(50)]
    values[3:3] = [None, b"poison", (values[0] or b"")[:5]]
    client.close()
    fill(node, topic, values, codec)

    def reader() -> Any:
        options = {"kafka.bootstrap.servers": node.bootstrap_servers, "subscribe": topic}
        return spark.read.format("headrace").options(**options)

    read = decoded_values(reader(), topic=topic, url=registry.url).load()
    applied = with_registry(reader().load(), into="order", topic=topic, url=registry.url)
    ours = read.select("offset", "key", "value", "value_error").orderBy("offset")
    theirs = applied.select("offset", "key", "order", "order_error").orderBy("offset")
    assert ours.schema["value"].dataType == theirs.schema["order"].dataType
    rows = [tuple(row) for row in ours.collect()]
    assert rows == [tuple(row) for row in theirs.collect()]
    assert len(rows) == len(values)
    assert [row[0] for row in rows if row[3] is not None] == [4, 5]
    assert rows[3][2:] == (None, None)
