"""Confluent's own serializers and ours write the same bytes and read each other's."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka.schema_registry import (
    Schema as ConfluentSchema,
)
from confluent_kafka.schema_registry import (
    SchemaRegistryClient,
    dual_schema_id_deserializer,
    header_schema_id_serializer,
)
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2 as pb
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from headrace.serde.deserializer import Deserializer
from headrace.serde.protobuf import ProtobufCodec
from headrace.serde.registry_client import RegistryClient
from headrace.serde.schema import JSON, PROTOBUF, Schema
from headrace.serde.serializer import Serializer
from headrace.testing import EmbeddedKafka
from tests.support.schema_registry import SchemaRegistry
from tests.support.small_registry import small_registry

AVRO = json.dumps(
    {
        "type": "record",
        "name": "shop.Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "note", "type": ["null", "string"], "default": None},
            {"name": "tags", "type": {"type": "array", "items": "string"}},
        ],
    }
)
VALUE = {"id": 4, "note": "hi", "tags": ["a", "b"]}
JSON_SCHEMA = '{"title": "Order", "type": "object", "properties": {"id": {"type": "integer"}}}'


@pytest.fixture(scope="module", params=["small", "headrace"])
def url(
    request: pytest.FixtureRequest,
    node: EmbeddedKafka,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """A registry that keeps what it is given, and our own."""
    if request.param == "small":
        with small_registry() as small:
            yield small.url
        return
    with SchemaRegistry(tmp_path_factory.mktemp("registry"), node.bootstrap_servers) as running:
        yield running.url


@pytest.fixture
def theirs(url: str) -> Iterator[Any]:
    with SchemaRegistryClient({"url": url}) as client:
        yield client


@pytest.fixture
def ours(url: str) -> Iterator[RegistryClient]:
    client = RegistryClient.from_settings({"schema.registry.url": url})
    yield client
    client.close()


def context(topic: str, headers: list[Any] | None = None) -> Any:
    return SerializationContext(topic, MessageField.VALUE, headers)


def test_avro_is_the_same_both_ways(theirs: Any, ours: RegistryClient) -> None:
    their_data = AvroSerializer(theirs, AVRO)(VALUE, context("avro"))
    our_data = Serializer(ours, Schema(AVRO))("avro", VALUE)
    assert our_data == their_data
    assert Deserializer(ours)(their_data) == VALUE
    assert AvroDeserializer(theirs)(our_data, context("avro")) == VALUE


def test_json_schema_is_read_both_ways(theirs: Any, ours: RegistryClient) -> None:
    their_data = JSONSerializer(JSON_SCHEMA, theirs)({"id": 1}, context("json"))
    our_data = Serializer(ours, Schema(JSON_SCHEMA, JSON))("json", {"id": 1})
    assert our_data is not None
    assert our_data[:5] == their_data[:5]
    assert Deserializer(ours)(their_data) == {"id": 1}
    read = JSONDeserializer(JSON_SCHEMA, schema_registry_client=theirs)
    assert read(our_data, context("json")) == {"id": 1}


def test_protobuf_is_the_same_both_ways(theirs: Any, ours: RegistryClient) -> None:
    text = 'syntax = "proto3"; package shop; message Person { string name = 1; int64 age = 2; }'
    schema = Schema(text, PROTOBUF)
    value = ProtobufCodec(schema, {}).decode(b"\x00\x0a\x03Ann\x10\x07")
    kind = type(value)
    their_data = ProtobufSerializer(kind, theirs)(value, context("proto"))
    our_data = Serializer(ours, schema)("proto-text", value)
    assert our_data is not None
    # Their client registers a descriptor in base64, so the ids differ.
    assert our_data[5:] == their_data[5:]
    assert Deserializer(ours).to_json(their_data) == {"name": "Ann", "age": "7"}
    again = Serializer(ours, ours.latest("proto-value").schema)("proto", value)
    assert again == their_data
    assert ProtobufDeserializer(kind, {}, theirs)(again, context("proto")) == value


def test_a_nested_message_behind_a_map_has_the_same_path_for_both(
    theirs: Any, ours: RegistryClient
) -> None:
    """protoc puts the entries of a map where its field stands, before later messages."""
    pool = DescriptorPool()
    pool.Add(file_with_a_map_before_a_message())
    kind = GetMessageClass(pool.FindMessageTypeByName("shop.Basket.Item"))
    item = kind(name="tea")
    topic = f"behind-a-map-{uuid4()}"
    their_data = ProtobufSerializer(kind, theirs)(item, context(topic))
    assert their_data is not None
    assert Deserializer(ours).to_json(their_data) == {"name": "tea"}
    schema = ours.latest(f"{topic}-value").schema
    our_data = Serializer(ours, schema)(topic, item)
    assert our_data == their_data
    assert ProtobufDeserializer(kind, {}, theirs)(our_data, context(topic)) == item


def file_with_a_map_before_a_message() -> pb.FileDescriptorProto:
    field = pb.FieldDescriptorProto
    file = pb.FileDescriptorProto(name="shop/basket.proto", package="shop", syntax="proto3")
    basket = file.message_type.add(name="Basket")
    entry = basket.nested_type.add(name="PricesEntry")
    entry.options.map_entry = True
    for number, name in enumerate(("key", "value"), 1):
        entry.field.add(name=name, number=number, type=field.TYPE_STRING, label=1)
    item = basket.nested_type.add(name="Item")
    item.field.add(name="name", number=1, type=field.TYPE_STRING, label=1)
    name = ".shop.Basket.PricesEntry"
    basket.field.add(name="prices", number=1, type=field.TYPE_MESSAGE, type_name=name, label=3)
    return file


def test_a_schema_id_in_headers_is_read_both_ways(theirs: Any, ours: RegistryClient) -> None:
    headers: list[Any] = []
    config = {"schema.id.serializer": header_schema_id_serializer}
    write = AvroSerializer(theirs, AVRO, conf=config)
    their_data = write(VALUE, context("headers", headers))
    assert Deserializer(ours)(their_data, headers) == VALUE

    our_data, header = Serializer(ours, Schema(AVRO)).with_header("headers", VALUE)
    assert our_data == their_data
    assert header in headers
    read = AvroDeserializer(theirs, conf={"schema.id.deserializer": dual_schema_id_deserializer})
    assert read(our_data, context("headers", [header])) == VALUE


def test_references_registered_by_their_client_are_followed(
    theirs: Any, ours: RegistryClient
) -> None:
    from confluent_kafka.schema_registry import SchemaReference

    kind = '{"type": "enum", "name": "shop.Kind", "symbols": ["A", "B"]}'
    theirs.register_schema("kind", ConfluentSchema(kind, "AVRO"))
    order = (
        '{"type": "record", "name": "shop.R", "fields": [{"name": "kind", "type": "shop.Kind"}]}'
    )
    schema = ConfluentSchema(order, "AVRO", [SchemaReference("shop.Kind", "kind", 1)])
    data = AvroSerializer(theirs, schema)({"kind": "B"}, context("references"))
    assert Deserializer(ours)(data) == {"kind": "B"}
