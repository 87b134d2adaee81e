"""Avro: values, its JSON encoding, evolution, and sentences for what does not fit."""

import json
from contextlib import suppress
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import pytest
from fastavro import parse_schema, schemaless_reader, schemaless_writer
from hypothesis import given
from hypothesis import strategies as st

from headrace.serde.avro import AvroCodec
from headrace.serde.errors import SchemaError, SerdeError
from headrace.serde.schema import Schema

RECORD: dict[str, Any] = {
    "type": "record",
    "name": "shop.Order",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "raw", "type": "bytes"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {
            "name": "item",
            "type": {
                "type": "record",
                "name": "Item",
                "fields": [
                    {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A"]}},
                    {"name": "next", "type": ["null", "int", "long", "Kind", "Item"]},
                ],
            },
        },
    ],
}
JSON_VALUE = {
    "id": 7,
    "at": 1000,
    "raw": "a\xff",
    "note": {"string": "hi"},
    "item": {"kind": "A", "next": {"shop.Item": {"kind": "A", "next": {"shop.Kind": "A"}}}},
}


def codec(schema: Any, reader: Any = None) -> AvroCodec:
    made = None if reader is None else Schema(json.dumps(reader))
    return AvroCodec(Schema(json.dumps(schema)), {}, made)


def test_the_json_encoding_comes_back_and_python_sees_logical_types() -> None:
    order = codec(RECORD)
    data = order.encode_json(JSON_VALUE)
    assert order.decode_json(data) == JSON_VALUE
    value = order.decode(data)
    assert value["at"] == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert value["raw"] == b"a\xff"
    assert order.encode(value) == data


def test_the_bytes_are_those_of_fastavro() -> None:
    parsed = parse_schema(RECORD)
    stream = BytesIO()
    value = {"id": 1, "at": 5, "raw": b"", "note": "n", "item": {"kind": "A", "next": 3}}
    schemaless_writer(stream, parsed, value)
    assert codec(RECORD).encode(value) == stream.getvalue()


@given(
    st.recursive(
        st.sampled_from(["null", "boolean", "int", "long", "double", "string", "bytes"]),
        lambda inner: st.one_of(
            st.builds(lambda items: {"type": "array", "items": items}, inner),
            st.builds(lambda values: {"type": "map", "values": values}, inner),
        ),
        max_leaves=3,
    ),
    st.data(),
)
def test_any_value_of_a_schema_survives_its_json_encoding(schema: Any, data: st.DataObject) -> None:
    from fastavro.utils import generate_one

    union = schema if schema == "null" else ["null", schema]
    field = {"type": "record", "name": "R", "fields": [{"name": "f", "type": union}]}
    made = codec(field)
    value = generate_one(parse_schema(field))
    bytes_of_value = made.encode(value)
    shown = json.loads(json.dumps(made.decode_json(bytes_of_value)))
    assert made.encode_json(shown) == bytes_of_value


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"id": "x"}, "field id holds 'x', not int"),
        ({"id": 2**31}, "field id holds 2147483648, not int"),
        ({"id": True}, "field id holds True, not int"),
        ({"raw": "€"}, "field raw holds '€', not bytes"),
        ({"note": "hi"}, "field note holds 'hi', not null or"),
        ({"item": {"kind": "B", "next": None}}, "field item.kind holds 'B', not a symbol"),
        ({"item": {"kind": "A"}}, "field item.next is missing"),
        ({"extra": 1}, "has no field extra"),
    ],
)
def test_a_value_that_does_not_fit_is_told_with_its_field(change: Any, sentence: str) -> None:
    with pytest.raises(SerdeError, match=sentence):
        codec(RECORD).encode_json({**JSON_VALUE, **change})


def test_a_python_value_that_does_not_fit_is_told_with_its_field() -> None:
    value = {"id": 1, "at": 5, "raw": b"", "note": None, "item": {"kind": "A", "next": object()}}
    with pytest.raises(SerdeError, match=r"field .*next holds"):
        codec(RECORD).encode(value)


def test_a_missing_field_takes_its_default() -> None:
    without = {key: value for key, value in JSON_VALUE.items() if key != "note"}
    assert codec(RECORD).decode_json(codec(RECORD).encode_json(without))["note"] is None


def test_a_reader_sees_old_data_through_its_own_schema() -> None:
    old = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
    new = {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "a", "type": "double"},
            {"name": "b", "type": ["null", "string"], "default": None},
        ],
    }
    data = codec(old).encode({"a": 3})
    assert codec(old, new).decode(data) == {"a": 3.0, "b": None}
    assert codec(old, new).decode_json(data) == {"a": 3.0, "b": None}


def test_a_reader_that_cannot_read_is_one_sentence() -> None:
    old = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "string"}]}
    new = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
    with pytest.raises(SerdeError, match="not Avro of its schema"):
        codec(old, new).decode(codec(old).encode({"a": "x"}))


def test_named_types_of_references_are_known() -> None:
    kind = Schema('{"type":"enum","name":"shop.Kind","symbols":["A","B"]}')
    user = Schema(
        '{"type":"record","name":"shop.R","fields":[{"name":"k","type":["null","shop.Kind"]}]}'
    )
    made = AvroCodec(user, {"shop.Kind": kind})
    assert made.decode(made.encode_json({"k": {"shop.Kind": "B"}})) == {"k": "B"}
    assert made.decode_json(made.encode({"k": "B"})) == {"k": {"shop.Kind": "B"}}


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_with_one_sentence(data: bytes) -> None:
    for read in (codec(RECORD).decode, codec(RECORD).decode_json):
        with suppress(SerdeError):
            read(data, 0)


@pytest.mark.parametrize("text", ["{", '{"type":"nope"}', "[" * 5000 + "]" * 5000, "[]]"])
def test_a_schema_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(SchemaError):
        AvroCodec(Schema(text), {})


def test_fastavro_reads_what_was_written_from_json() -> None:
    data = codec(RECORD).encode_json(JSON_VALUE)
    value: Any = schemaless_reader(BytesIO(data), parse_schema(RECORD), None)
    assert value["id"] == 7


LIST = {"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}
EMPTY = {"type": "record", "name": "E", "fields": [{"name": "a", "type": "null"}]}
ENDLESS = {"type": "record", "name": "R", "fields": [{"name": "r", "type": "R"}]}
#: A block of 2^40 items, and the end of the array.
TRILLION = b"\x80\x80\x80\x80\x80\x40\x00"


def number(value: int) -> bytes:
    stream = BytesIO()
    schemaless_writer(stream, "long", value)
    return stream.getvalue()


@pytest.mark.parametrize(
    "items", ["null", EMPTY, {"type": "fixed", "name": "F", "size": 0}, {**EMPTY, "fields": []}]
)
@pytest.mark.parametrize("read", ["decode", "decode_json"])
def test_items_without_bytes_are_counted(items: Any, read: str) -> None:
    array = {"type": "array", "items": items}
    assert len(getattr(codec(array), read)(number(1000) + b"\x00")) == 1000
    for data in (TRILLION, number(-(1 << 40)) + b"\x00\x00", (number(400_000) * 3) + b"\x00"):
        with pytest.raises(SerdeError, match="more than 1000000 items without any bytes"):
            getattr(codec(array), read)(data)
    inside = {"type": "map", "values": ["null", {"type": "array", "items": items}]}
    with pytest.raises(SerdeError, match="items without any bytes"):
        getattr(codec(inside), read)(b"\x02\x02k\x02" + TRILLION + b"\x00")


@pytest.mark.parametrize("read", ["decode", "decode_json"])
def test_records_in_records_end_somewhere(read: str) -> None:
    assert getattr(codec(LIST), read)(b"\x02" * 200 + b"\x00")
    with pytest.raises(SerdeError, match="nested"):
        getattr(codec(LIST), read)(b"\x02" * 100_000 + b"\x00")
    with pytest.raises(SerdeError, match="nested"):
        getattr(codec(ENDLESS), read)(b"")
    assert getattr(codec(["null", ENDLESS]), read)(b"\x00") is None


def test_long_data_of_a_recursive_type_is_read_like_any_other() -> None:
    tree = {
        "type": "record",
        "name": "T",
        "fields": [
            {"name": "f", "type": {"type": "fixed", "name": "F", "size": 2}},
            {"name": "n", "type": ["null", "long", "double", "boolean", "string"]},
            {"name": "m", "type": {"type": "map", "values": {"type": "array", "items": "T"}}},
        ],
    }
    leaf: dict[str, Any] = {"f": b"ab", "n": "x" * 300, "m": {}}
    values = [1 << 40, 1.5, True, None, "y"]
    node = {"f": b"cd", "n": None, "m": {"k": [{**leaf, "n": one} for one in values], "e": []}}
    value = {"f": b"ef", "n": 7, "m": {"left": [node, leaf], "right": [node] * 20}}
    data = codec(tree).encode(value)
    assert len(data) > 1000
    assert codec(tree).decode(data) == value
    for end in range(len(data) - 5, len(data)):
        with pytest.raises(SerdeError, match="not Avro of its schema"):
            codec(tree).decode(data[:end])


@pytest.mark.parametrize("links", [300, 5000])
def test_a_chain_of_records_is_as_deep_as_data_may_be(links: int) -> None:
    fields = [[{"name": "f", "type": "int"}]]
    fields += [[{"name": "f", "type": f"R{one}"}] for one in range(links)]
    schema = [{"type": "record", "name": f"R{one}", "fields": f} for one, f in enumerate(fields)]
    data = number(links) + b"\x02"
    if links == 300:
        assert codec(schema).decode(data)
        return
    with pytest.raises(SerdeError, match="nested deeper"):
        codec(schema).decode(data)


def test_a_circle_of_records_is_no_way_around_the_limit() -> None:
    fields = [{"name": "f", "type": ["null", "R49"]}]
    records: list[Any] = [{"type": "record", "name": "R0", "fields": fields}]
    for one in range(1, 50):
        part = {"name": "f", "type": records[-1]}
        records.append({"type": "record", "name": f"R{one}", "fields": [part]})
    flat = json.loads(json.dumps(records[-1]))
    assert codec(flat).decode(b"\x02" * 5 + b"\x00")
    with pytest.raises(SerdeError, match="nested deeper"):
        codec(flat).decode(b"\x02" * 200 + b"\x00")
