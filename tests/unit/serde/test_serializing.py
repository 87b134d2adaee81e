"""Serializer and deserializer together, against a registry over HTTP."""

import pytest

from headrace.serde.deserializer import Deserializer
from headrace.serde.errors import RegistryError, SerdeError
from headrace.serde.registry_client import RegistryClient
from headrace.serde.schema import JSON, PROTOBUF, Schema
from headrace.serde.serializer import Serializer, SerializerConfig
from headrace.serde.subjects import find_strategy
from tests.support.small_registry import SmallRegistry

AVRO_USER = Schema('{"type":"record","name":"a.User","fields":[{"name":"n","type":"string"}]}')
JSON_USER = Schema('{"title":"User","type":"object"}', JSON)
PROTO_USER = Schema('syntax = "proto3"; package a; message User { string n = 1; }', PROTOBUF)


@pytest.mark.parametrize("schema", [AVRO_USER, JSON_USER, PROTO_USER], ids=lambda s: s.type)
@pytest.mark.parametrize("in_header", [False, True])
def test_what_is_written_comes_back(
    client: RegistryClient, schema: Schema, in_header: bool
) -> None:
    write, read = Serializer(client, schema), Deserializer(client)
    data: bytes | None
    if in_header:
        data, header = write.with_header("users", {"n": "Ann"})
        assert header is not None
        headers = [("trace", b"1"), header]
    else:
        data, headers = write("users", {"n": "Ann"}), []
    assert read.to_json(data, headers) == {"n": "Ann"}
    value = read(data, headers)
    assert value == {"n": "Ann"} if schema is not PROTO_USER else value.n == "Ann"


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [
        ("io.confluent.kafka.serializers.subject.TopicNameStrategy", "users-key"),
        ("io.confluent.kafka.serializers.subject.RecordNameStrategy", "a.User"),
        ("TOPIC_RECORD_NAME", "users-a.User"),
    ],
)
def test_the_strategy_names_the_subject(
    registry: SmallRegistry, client: RegistryClient, strategy: str, subject: str
) -> None:
    config = SerializerConfig(strategy=find_strategy(strategy))
    Serializer(client, AVRO_USER, config, is_key=True)("users", {"n": ""})
    assert list(registry.subjects) == [subject]


def test_an_unknown_strategy_is_refused() -> None:
    with pytest.raises(SerdeError, match="MyStrategy is unknown"):
        find_strategy("com.example.MyStrategy")


def test_null_stays_null(client: RegistryClient) -> None:
    assert Serializer(client, AVRO_USER)("users", None) is None
    assert Deserializer(client)(None) is None


def test_without_auto_register_an_unknown_schema_is_refused(
    registry: SmallRegistry, client: RegistryClient
) -> None:
    write = Serializer(client, AVRO_USER, SerializerConfig(auto_register=False))
    with pytest.raises(RegistryError, match="Schema not found"):
        write("users", {"n": ""})
    assert not registry.subjects


def test_the_latest_version_or_a_given_id_writes(client: RegistryClient) -> None:
    first = client.register("users-value", AVRO_USER)
    newer = Schema(AVRO_USER.text.replace('"string"', '"int"'))
    client.register("users-value", newer)
    latest = Serializer(client, config=SerializerConfig(use_latest=True))
    by_id = Serializer(client, config=SerializerConfig(use_schema_id=first.id))
    assert Deserializer(client)(latest("users", {"n": 3})) == {"n": 3}
    assert Deserializer(client)(by_id("users", {"n": "x"})) == {"n": "x"}


def test_nothing_is_registered_for_a_schema_that_is_none(
    registry: SmallRegistry, client: RegistryClient
) -> None:
    with pytest.raises(SerdeError, match="invalid"):
        Serializer(client, Schema('{"type":"nope"}'))("users", 1)
    assert not registry.asked


def test_many_values_of_changing_schemas_are_read_in_order(client: RegistryClient) -> None:
    first = Serializer(client, AVRO_USER)
    second = Serializer(client, Schema('"long"'))
    data = [first("a", {"n": "x"}), None, second("b", 5), first("a", {"n": "y"})]
    assert Deserializer(client).all(data) == [{"n": "x"}, None, 5, {"n": "y"}]


def test_an_unknown_id_is_named(client: RegistryClient) -> None:
    with pytest.raises(RegistryError, match="Schema 9 not found"):
        Deserializer(client)(b"\x00\x00\x00\x00\x09rest")
