"""Protobuf in the wire format as columns: which types, versions, and messages that are others."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

from headrace.serde.errors import SchemaError, SerdeError
from headrace.serde.protobuf import ProtobufCodec
from headrace.serde.schema import PROTOBUF, Schema
from headrace.serde.wire import prefix
from headrace.spark.registry.decoding import decoder_for, pin_reader
from headrace.spark.registry.encoding import encoder_for, pin_writer
from tests.support.small_registry import SmallRegistry


def settings(registry: SmallRegistry) -> tuple[tuple[str, str], ...]:
    return (("schema.registry.url", registry.url),)


def add(registry: SmallRegistry, text: str) -> int:
    return registry.add("s", {"schema": text, "schemaType": PROTOBUF})


WELL_KNOWN = """
syntax = "proto3";
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/struct.proto";
message M {
  google.protobuf.Timestamp at = 1; google.protobuf.Duration took = 2;
  google.protobuf.StringValue name = 3; google.protobuf.Struct free = 4;
  uint32 small = 5; fixed64 big = 6; sint32 signed = 7; float ratio = 8;
  map<int32, bool> flags = 9; repeated bytes parts = 10;
}
"""
VALUE = {
    "at": "2026-01-02T03:04:05.000006Z",
    "took": "-1.500s",
    "name": "Ann",
    "free": {"a": [1]},
    "small": 2**32 - 1,
    "big": 2**64 - 1,
    "signed": -1,
    "ratio": 0.5,
    "flags": {"3": True},
    "parts": ["/w=="],
}
COLUMNS = {
    "at": datetime(2026, 1, 2, 3, 4, 5, 6, UTC),
    "took": timedelta(seconds=-1.5),
    "name": "Ann",
    "free": '{"a": [1.0]}',
    "small": 2**32 - 1,
    "big": Decimal(2**64 - 1),
    "signed": -1,
    "ratio": 0.5,
    "flags": [(3, True)],
    "parts": [b"\xff"],
}


def test_messages_become_columns(registry: SmallRegistry) -> None:
    schema_id = add(registry, WELL_KNOWN)
    codec = ProtobufCodec(Schema(WELL_KNOWN, PROTOBUF), {})
    rows = [prefix(schema_id) + codec.encode_json(value) for value in (VALUE, {})]
    decoder = decoder_for(pin_reader(settings(registry), subject="s"))
    first, second = decoder.decode(pa.array(rows, pa.binary())).values.to_pylist()
    assert first == COLUMNS
    assert second == {
        **dict.fromkeys(("at", "took", "name", "free")),
        "small": 0,
        "big": Decimal(0),
        "signed": 0,
        "ratio": 0.0,
        "flags": [],
        "parts": [],
    }


def test_an_older_writer_is_read_by_field_number(registry: SmallRegistry) -> None:
    old = add(registry, 'syntax="proto3"; message P { string n = 1; int32 gone = 2; }')
    add(registry, 'syntax="proto3"; message P { string name = 1; optional int64 age = 3; }')
    decoder = decoder_for(pin_reader(settings(registry), subject="s"))
    data = prefix(old) + b"\x00\x0a\x03Ann\x10\x07"
    assert decoder.decode(pa.array([data])).values.to_pylist() == [{"name": "Ann", "age": None}]


def test_another_message_of_the_topic_is_told(registry: SmallRegistry) -> None:
    text = 'syntax="proto3"; package a; message P { string n = 1; } message Q { string n = 1; }'
    schema_id = add(registry, text)
    decoder = decoder_for(pin_reader(settings(registry), subject="s", message="Q"))
    p, q = b"\x00\x0a\x01x", b"\x02\x02\x0a\x01y"
    rows = [prefix(schema_id) + p, prefix(schema_id) + q, prefix(schema_id) + q[:-1]]
    found = decoder.decode(pa.array(rows))
    assert found.values.to_pylist() == [None, {"n": "y"}, None]
    assert found.reasons[0] == "The data is a a.P, and the reader's message a.Q."
    assert "The data is not a a.Q" in found.reasons[2]


def test_a_message_that_contains_itself_is_refused(registry: SmallRegistry) -> None:
    add(registry, 'syntax="proto3"; message T { repeated T children = 1; }')
    with pytest.raises(SchemaError, match="T contains itself"):
        pin_reader(settings(registry), subject="s")


def test_rows_are_written_as_the_message_that_was_chosen(registry: SmallRegistry) -> None:
    text = 'syntax="proto3"; package a; message P { string n = 1; } message Q { int32 i = 1; }'
    writer = pin_writer(settings(registry), "s", schema=text, schema_type=PROTOBUF, message="a.Q")
    rows = pa.array([{"i": 5}, None, {"i": None}], pa.struct([("i", pa.int32())]))
    found = encoder_for(writer, rows.type).encode(rows)
    start = prefix(writer.schema_id) + b"\x02\x02"
    assert found.values.to_pylist() == [start + b"\x08\x05", None, start]
    unknown = pa.array([{"other": 5}])
    assert "other" in encoder_for(writer, unknown.type).encode(unknown).reasons[0]
    with pytest.raises(SerdeError, match="from a struct"):
        encoder_for(writer, pa.string())
