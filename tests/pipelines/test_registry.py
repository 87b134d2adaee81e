"""`from_registry` and `to_registry` beside Confluent's own serializers, on a running registry."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from headrace.serde.errors import RegistryError, SerdeError
from headrace.serde.protobuf import ProtobufCodec
from headrace.serde.schema import PROTOBUF, Schema
from headrace.spark.registry.clients import close_clients
from headrace.testing import EmbeddedKafka
from tests.support.schema_registry import SchemaRegistry

AVRO = {
    "type": "record",
    "name": "shop.Order",
    "fields": [
        {"name": "id", "type": "long"},
        {
            "name": "cost",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        },
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "DONE"]}},
        {"name": "tags", "type": {"type": "array", "items": ["null", "string"]}},
        {"name": "prices", "type": {"type": "map", "values": "double"}},
        {"name": "note", "type": ["null", "string"], "default": None},
    ],
}
AT = datetime(2026, 1, 2, 3, 4, 5, 678_000, UTC)
ORDERS = [
    {
        "id": number,
        "cost": Decimal(number - 3) / 4,
        "at": AT,
        "state": "DONE" if number % 2 else "NEW",
        "tags": ["a", None] * (number % 3),
        "prices": {"x": number / 2} if number % 2 else {},
        "note": None if number % 3 else f"ñ{number}",
    }
    for number in range(20)
]


@pytest.fixture(scope="module")
def registry(
    spark: Any, node: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SchemaRegistry]:
    directory = tmp_path_factory.mktemp("registry")
    with SchemaRegistry(directory, node.bootstrap_servers) as running:
        spark.conf.set("spark.headrace.schema.registry.url", running.url)
        yield running
        spark.conf.unset("spark.headrace.schema.registry.url")
        close_clients()


@pytest.fixture
def client(registry: SchemaRegistry) -> Iterator[Any]:
    with SchemaRegistryClient({"url": registry.url}) as found:
        yield found


def context(topic: str) -> Any:
    return SerializationContext(topic, MessageField.VALUE)


def frame(spark: Any, values: Sequence[bytes | None]) -> Any:
    rows = [(None if value is None else bytearray(value), n) for n, value in enumerate(values)]
    return spark.createDataFrame(rows, "value binary, n int")


def values_of(df: Any, column: str) -> list[Any]:
    """The column in the order of the rows, as plain values."""
    rows = df.select("n", column).orderBy("n").collect()
    return [row[1].asDict(recursive=True) if hasattr(row[1], "asDict") else row[1] for row in rows]


# ---------------------------------------------------------------- Avro


def test_spark_reads_what_confluents_avro_serializer_wrote(spark: Any, client: Any) -> None:
    from headrace.spark.registry.functions import from_registry

    write = AvroSerializer(client, json.dumps(AVRO))
    data = [write(order, context("avro")) for order in ORDERS]
    df = frame(spark, [*data, None]).withColumn("order", from_registry("value", topic="avro"))
    found = values_of(df, "order")
    naive = [{**order, "at": AT.replace(tzinfo=None)} for order in ORDERS]
    assert found == [*naive, None]


def test_confluents_avro_deserializer_reads_what_spark_wrote(spark: Any, client: Any) -> None:
    from headrace.spark.registry.functions import from_registry
    from headrace.spark.registry.writing import to_registry

    write = AvroSerializer(client, json.dumps(AVRO))
    data = [write(order, context("copied")) for order in ORDERS]
    orders = frame(spark, data).select("n", from_registry("value", topic="copied").alias("o"))
    again = orders.withColumn("value", to_registry("o", topic="copied"))
    written = values_of(again, "value")
    assert [bytes(value) for value in written] == data
    read = AvroDeserializer(client)
    assert [read(bytes(value), context("copied")) for value in written] == ORDERS


def test_columns_become_a_record_and_the_schema_is_registered(spark: Any, client: Any) -> None:
    from headrace.spark.registry.writing import to_registry

    schema = json.dumps(
        {
            "type": "record",
            "name": "Count",
            "fields": [
                {"name": "word", "type": "string"},
                {"name": "count", "type": "long"},
                {"name": "unit", "type": "string", "default": "words"},
            ],
        }
    )
    df = spark.createDataFrame([("tea", 3), ("milk", 5)], "word string, count int")
    made = to_registry(["word", "count"], topic="counts", schema=schema)
    rows = df.orderBy("count").select(made.alias("value")).collect()
    read = AvroDeserializer(client)
    assert [read(bytes(row.value), context("counts")) for row in rows] == [
        {"word": "tea", "count": 3, "unit": "words"},
        {"word": "milk", "count": 5, "unit": "words"},
    ]
    assert client.get_latest_version("counts-value").schema.schema_type == "AVRO"


def test_several_schemas_of_a_topic_are_seen_through_the_latest(spark: Any, client: Any) -> None:
    from headrace.spark.registry.functions import from_registry

    def version(*fields: dict[str, Any]) -> str:
        return json.dumps({"type": "record", "name": "User", "fields": list(fields)})

    old = version({"name": "age", "type": "int"}, {"name": "gone", "type": "string", "default": ""})
    new = version(
        {"name": "age", "type": "long"}, {"name": "name", "type": "string", "default": "?"}
    )
    rows = [
        AvroSerializer(client, old)({"age": 1, "gone": "x"}, context("users")),
        AvroSerializer(client, new)({"age": 2**40, "name": "Ann"}, context("users")),
        AvroSerializer(client, old)({"age": 3, "gone": "y"}, context("users")),
    ]
    df = frame(spark, rows).withColumn("user", from_registry("value", topic="users"))
    assert values_of(df, "user") == [
        {"age": 1, "name": "?"},
        {"age": 2**40, "name": "Ann"},
        {"age": 3, "name": "?"},
    ]
    # The query keeps the schema it was planned with; another reader may choose the older one.
    df = frame(spark, rows[::2]).withColumn(
        "user", from_registry("value", topic="users", reader_schema=old)
    )
    assert values_of(df, "user") == [{"age": 1, "gone": "x"}, {"age": 3, "gone": "y"}]


# ---------------------------------------------------------------- JSON Schema and Protobuf

JSON_SCHEMA = json.dumps(
    {
        "title": "Person",
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": ["integer", "null"]},
            "scores": {"type": "array", "items": {"type": "number"}},
            "extra": {"type": "object", "additionalProperties": {"type": "boolean"}},
            "free": {},
            "home": {"$ref": "#/definitions/home"},
        },
        "definitions": {"home": {"type": "object", "properties": {"city": {"type": "string"}}}},
    }
)


def test_json_schema_is_read_and_written_both_ways(spark: Any, client: Any) -> None:
    from headrace.spark.registry.functions import from_registry
    from headrace.spark.registry.writing import to_registry

    person = {
        "name": "Ann",
        "age": 7,
        "scores": [1, 2.5],
        "extra": {"kind": True},
        "free": [1, "x"],
        "home": {"city": "Bergen"},
    }
    write = JSONSerializer(JSON_SCHEMA, client)
    data = [write(one, context("people")) for one in (person, {"name": "Bo", "age": None})]
    df = frame(spark, data).withColumn("p", from_registry("value", topic="people"))
    nothing = {"scores": None, "extra": None, "free": None, "home": None}
    assert values_of(df, "p") == [
        {**person, "scores": [1.0, 2.5], "free": '[1,"x"]'},
        {"name": "Bo", "age": None, **nothing},
    ]
    again = df.withColumn("value", to_registry(df.p.dropFields("free"), topic="people"))
    read = JSONDeserializer(JSON_SCHEMA, schema_registry_client=client)
    back = [read(bytes(value), context("people")) for value in values_of(again, "value")]
    assert back == [{k: v for k, v in person.items() if k != "free"}, {"name": "Bo"}]


PROTO = """
syntax = "proto3"; package shop;
import "google/protobuf/timestamp.proto";
message Person {
  string name = 1; int64 age = 2; optional int32 rank = 3; repeated Kind kinds = 4;
  map<string, Address> homes = 5; google.protobuf.Timestamp at = 6; uint64 big = 7; bytes raw = 8;
  oneof choice { string a = 9; bool b = 10; }
  enum Kind { NONE = 0; BIG = 1; }
  message Address { string city = 1; }
}
message Other { string name = 1; }
"""


def test_protobuf_is_read_and_written_both_ways(spark: Any, client: Any) -> None:
    from headrace.spark.registry.functions import from_registry
    from headrace.spark.registry.writing import to_registry

    kind = type(ProtobufCodec(Schema(PROTO, PROTOBUF), {}).decode(b"\x00"))
    made: Any = kind(name="Ann", age=7, kinds=[1, 0], big=2**64 - 1, raw=b"\xff", b=False)
    made.homes["x"].city = "Bergen"
    made.at.FromDatetime(AT)
    data = ProtobufSerializer(kind, client)(made, context("messages"))
    df = frame(spark, [data]).withColumn("m", from_registry("value", topic="messages"))
    assert values_of(df, "m") == [
        {
            "name": "Ann",
            "age": 7,
            "rank": None,
            "kinds": ["BIG", "NONE"],
            "homes": {"x": {"city": "Bergen"}},
            "at": AT.replace(tzinfo=None),
            "big": Decimal(2**64 - 1),
            "raw": b"\xff",
            "a": None,
            "b": False,
        }
    ]
    again = df.withColumn("value", to_registry("m", topic="messages"))
    (value,) = values_of(again, "value")
    read = ProtobufDeserializer(kind, {}, client)
    assert read(bytes(value), context("messages")) == made


# ---------------------------------------------------------------- what cannot be read


def test_undecodable_rows_are_told_apart_and_counted(spark: Any, client: Any) -> None:
    from headrace.spark.registry.dead_letters import split_dead_letters
    from headrace.spark.registry.functions import with_registry

    write = AvroSerializer(
        client, '{"type":"record","name":"R","fields":[{"name":"n","type":"int"}]}'
    )
    sound = write({"n": 5}, context("poisoned"))
    json_id = JSONSerializer(JSON_SCHEMA, client)({"name": "x"}, context("another"))
    rows = [sound, b"hello", sound[:5], None, b"\x00\xff\xff\xff\xff\x01", json_id, sound]
    decoded = with_registry(frame(spark, rows), "value", into="order", topic="poisoned")
    good, bad = split_dead_letters(decoded, "order_error")
    assert values_of(good, "order") == [{"n": 5}, None, {"n": 5}]
    assert "order_error" not in good.columns
    reasons = values_of(bad, "order_error")
    assert [row.n for row in bad.select("n").orderBy("n").collect()] == [1, 2, 4, 5]
    assert "magic byte" in reasons[0]
    assert "field n: the data ends inside the value" in reasons[1]
    assert "does not know schema 4294967295" in reasons[2]
    assert "is JSON, and the reader's is AVRO" in reasons[3]


def test_mistakes_are_one_sentence(spark: Any, client: Any, registry: SchemaRegistry) -> None:
    from headrace.spark.registry.functions import from_registry
    from headrace.spark.registry.writing import to_registry

    with pytest.raises(RegistryError, match="Subject 'nowhere-value' not found"):
        from_registry("value", topic="nowhere")
    with pytest.raises(SerdeError, match=r"topic=\.\.\. or subject"):
        from_registry("value")
    with pytest.raises(SerdeError, match="on_error is one of"):
        from_registry("value", topic="avro", on_error="ignore")
    tree = '{"type":"record","name":"T","fields":[{"name":"t","type":["null","T"]}]}'
    with pytest.raises(SerdeError, match="T contains itself"):
        from_registry("value", reader_schema=tree)
    with pytest.raises(SerdeError, match="invalid"):
        to_registry("value", topic="new", schema='{"type":"nope"}')
    spark.conf.unset("spark.headrace.schema.registry.url")
    try:
        with pytest.raises(SerdeError, match=r"set spark\.headrace\.schema\.registry\.url"):
            from_registry("value", topic="avro")
    finally:
        spark.conf.set("spark.headrace.schema.registry.url", registry.url)


def test_a_row_that_must_not_fail_fails_the_query_with_its_reason(spark: Any, client: Any) -> None:
    from pyspark.errors import PythonException

    from headrace.spark.registry.functions import from_registry
    from headrace.spark.registry.writing import to_registry

    AvroSerializer(client, '"long"')(1, context("strict"))
    df = frame(spark, [b"hello"])
    with pytest.raises(PythonException, match="magic byte 0x00"):
        df.select(from_registry("value", topic="strict", on_error="fail")).collect()
    schema = '{"type":"record","name":"W","fields":[{"name":"w","type":"string"}]}'
    nulls = spark.createDataFrame([(None,)], "w string")
    with pytest.raises(PythonException, match="field w: it is null, and its type has no null"):
        nulls.select(to_registry(["w"], topic="strict-out", schema=schema)).collect()
    (row,) = nulls.select(
        to_registry(["w"], topic="strict-out", schema=schema, on_error="null").alias("v")
    ).collect()
    assert row.v is None
    with pytest.raises(PythonException, match="field w is int32, which cannot be written as"):
        df.select(to_registry([df.n.alias("w")], topic="strict-out", schema=schema)).collect()
