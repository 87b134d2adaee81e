"""Producing over HTTP; what arrives is read by a Kafka client."""

import json
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from headrace.serde.deserializer import Deserializer
from headrace.serde.registry_client import RegistryClient
from headrace.testing import EmbeddedKafka
from tests.clients.rest import Rest, v2
from tests.clients.rest_fixtures import registry, rest
from tests.support.small_registry import SmallRegistry

__all__ = ["registry", "rest"]

AVRO = '{"type":"record","name":"Order","fields":[{"name":"id","type":"int"}]}'
JSON_SCHEMA = '{"title":"Order","type":"object","properties":{"id":{"type":"integer"}}}'
PROTOBUF = 'syntax = "proto3"; message Order { int32 id = 1; }'
SCHEMAS = {"avro": AVRO, "jsonschema": JSON_SCHEMA, "protobuf": PROTOBUF}


@pytest.fixture
def topic(node: EmbeddedKafka) -> str:
    return node.topic(partitions=2)


@pytest.fixture
def decode(registry: SmallRegistry) -> Iterator[Deserializer]:
    client = RegistryClient.from_settings({"schema.registry.url": registry.url})
    yield Deserializer(client)
    client.close()


def read(node: EmbeddedKafka, topic: str, partition: int, count: int) -> list[Any]:
    settings = {"bootstrap.servers": node.bootstrap_servers, "group.id": "reader"}
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, partition, 0)])
    found: list[Any] = []
    for _ in range(100):
        found += consumer.consume(count - len(found), 0.2)
        if len(found) >= count:
            break
    consumer.close()
    return found


def test_binary_records_arrive_with_their_keys(rest: Rest, node: EmbeddedKafka, topic: str) -> None:
    records = [
        {"key": b64encode(b"k").decode(), "value": b64encode(bytes(range(256))).decode()},
        {"value": None, "key": b64encode(b"gone").decode()},
    ]
    answer = rest.ask("POST", f"/topics/{topic}/partitions/1", {"records": records}, v2("binary"))
    assert answer.headers["content-type"] == "application/vnd.kafka.v2+json"
    assert answer.json() == {
        "offsets": [
            {"partition": 1, "offset": 0, "error_code": None, "error": None},
            {"partition": 1, "offset": 1, "error_code": None, "error": None},
        ],
        "key_schema_id": None,
        "value_schema_id": None,
    }
    first, second = read(node, topic, 1, 2)
    assert (first.key(), first.value()) == (b"k", bytes(range(256)))
    assert (second.key(), second.value()) == (b"gone", None)


def test_json_records_arrive_as_compact_json(rest: Rest, node: EmbeddedKafka, topic: str) -> None:
    records = [{"value": {"a": [1, "ü"]}, "partition": 0}, {"value": 5, "partition": 0}]
    assert rest.produce(topic, "json", records).status_code == 200
    assert [one.value() for one in read(node, topic, 0, 2)] == ['{"a":[1,"ü"]}'.encode(), b"5"]


def test_a_thousand_records_of_one_request_keep_their_order(
    rest: Rest, node: EmbeddedKafka, topic: str
) -> None:
    records = [{"value": number, "partition": 0} for number in range(2500)]
    offsets = rest.produce(topic, "json", records).json()["offsets"]
    assert [one["offset"] for one in offsets] == list(range(2500))
    assert [int(one.value()) for one in read(node, topic, 0, 2500)] == list(range(2500))


@pytest.mark.parametrize("embedded", SCHEMAS)
def test_records_with_a_schema_are_registered_and_read_back(
    rest: Rest, node: EmbeddedKafka, topic: str, decode: Deserializer, embedded: str
) -> None:
    records = [{"value": {"id": 7}, "partition": 0}]
    answer = rest.produce(topic, embedded, records, value_schema=SCHEMAS[embedded])
    assert answer.status_code == 200, answer.text
    schema_id = answer.json()["value_schema_id"]
    again = rest.produce(topic, embedded, records, value_schema_id=schema_id)
    assert again.json()["value_schema_id"] == schema_id
    for message in read(node, topic, 0, 2):
        assert decode.to_json(message.value()) == {"id": 7}


def test_v3_streams_records_and_answers_each(rest: Rest, node: EmbeddedKafka, topic: str) -> None:
    lines = [
        {"partition_id": 1, "value": {"type": "JSON", "data": {"a": 1}}},
        {
            "partition_id": 1,
            "headers": [{"name": "h", "value": "aGk="}, {"name": "n"}],
            "key": {"type": "STRING", "data": "ключ"},
            "value": {"type": "BINARY", "data": "aGk="},
            "timestamp": "2024-01-01T00:00:00Z",
        },
    ]
    body = "\n".join(json.dumps(line) for line in lines)
    first, second = rest.stream(topic, body.encode())
    assert (first["error_code"], first["partition_id"], first["offset"]) == (200, 1, 0)
    assert first["value"] == {"type": "JSON", "size": 7}
    assert second["timestamp"] == "2024-01-01T00:00:00.000Z"
    assert second["key"] == {"type": "STRING", "size": 8}
    arrived = read(node, topic, 1, 2)[1]
    assert (arrived.key().decode(), arrived.value()) == ("ключ", b"hi")
    assert arrived.headers() == [("h", b"hi"), ("n", None)]
    assert arrived.timestamp()[1] == 1_704_067_200_000


def test_v3_takes_objects_however_they_are_written(rest: Rest, topic: str) -> None:
    record = {"partition_id": 0, "value": {"type": "JSON", "data": 1}}
    one, pretty = json.dumps(record), json.dumps(record, indent=2)
    for body in (one + one, f"{one}\n\n{one}\n", pretty + "\n" + pretty, f"[{one},{one}]"):
        assert [line["error_code"] for line in rest.stream(topic, body.encode())] == [200, 200]


def test_v3_records_with_schemas_by_text_id_version_and_latest(
    rest: Rest, node: EmbeddedKafka, topic: str, decode: Deserializer
) -> None:
    def line(**data: Any) -> str:
        return json.dumps({"partition_id": 0, "value": {"data": {"id": 1}, **data}})

    (first,) = rest.stream(topic, line(type="AVRO", schema=AVRO).encode())
    assert first["error_code"] == 200, first
    assert first["value"]["subject"] == f"{topic}-value"
    schema_id = first["value"]["schema_id"]
    others = [line(schema_id=schema_id), line(schema_version=1), line()]
    for answer in rest.stream(topic, "\n".join(others).encode()):
        assert answer["error_code"] == 200, answer
        assert answer["value"]["schema_id"] == schema_id
    for message in read(node, topic, 0, 4):
        assert decode(message.value()) == {"id": 1}


def test_v3_a_bad_record_does_not_harm_its_neighbours(rest: Rest, topic: str) -> None:
    good = json.dumps({"value": {"type": "JSON", "data": 1}})
    bad = [
        '{"value": {"type": "NOPE", "data": 1}}',
        '{"partition_id": 99, "value": {"type": "JSON", "data": 1}}',
        '{"value": {"type": "BINARY", "data": "%%%"}}',
        '{"value": {"schema_id": 12345, "data": 1}}',
        '{"value": {"type": "AVRO", "schema": "{", "data": 1}}',
        '{"value": {"type": ["JSON"], "data": 1}}',
        '{"headers": 5}',
        '{"timestamp": "yesterday"}',
        "17",
    ]
    body = "\n".join(line for one in bad for line in (one, good))
    codes = [answer["error_code"] for answer in rest.stream(topic, body.encode())]
    assert codes[1::2] == [200] * len(bad)
    assert codes[::2] == [400, 40402, 42203, 42207, 42205, 400, 400, 400, 400]


def test_v3_where_json_ends_the_stream_ends(rest: Rest, topic: str) -> None:
    good = '{"value": {"type": "JSON", "data": 1}}'
    answers = rest.stream(topic, f"{good}\n{good}\n{{bad\n{good}\n".encode())
    assert [answer["error_code"] for answer in answers] == [200, 200, 400]


def test_v3_thousands_of_records_in_one_request_keep_their_order(
    rest: Rest, node: EmbeddedKafka, topic: str
) -> None:
    lines = [
        json.dumps({"partition_id": 0, "value": {"type": "JSON", "data": number}})
        for number in range(5000)
    ]
    answers = rest.stream(topic, "\n".join(lines).encode())
    assert [answer["offset"] for answer in answers] == list(range(5000))
    assert [int(one.value()) for one in read(node, topic, 0, 5000)] == list(range(5000))
