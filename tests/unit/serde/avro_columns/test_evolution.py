"""A reader's schema that differs from the writer's: what is promoted, reordered, defaulted."""

import io
import json
import struct
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from fastavro import parse_schema, schemaless_reader

from headrace.serde.errors import SchemaError
from tests.support.avro_schemas import change_schema, make_schema
from tests.support.avro_values import AvroValues, TooDeep, zigzag
from tests.unit.serde.avro_columns.decoding import column, decode, decoder, record

SEEDS = 600


def text(value: str) -> bytes:
    return zigzag(len(value.encode())) + value.encode()


def test_fastavro_reads_the_same_through_the_same_schemas() -> None:
    compared = 0
    for seed in range(SEEDS):
        random = Random(seed)
        writer = make_schema(random)
        reader = change_schema(random, writer)
        try:
            made = decoder(reader, s7=writer)
            values = AvroValues(random, writer)
            rows = [values.make()[0] for _ in range(5)]
        except (SchemaError, TooDeep):
            continue
        # Of a value in a union fastavro does not tell which type it has.
        if "member0" in str(made.arrow_type):
            continue
        found = made.decode(column(rows))
        for row, value in enumerate(found.values.to_pylist()):
            try:
                theirs = schemaless_reader(
                    io.BytesIO(rows[row]), parse_schema(writer), parse_schema(reader)
                )
            except Exception:
                continue
            assert row not in found.reasons, (seed, found.reasons, writer, reader)
            assert as_columns(made.arrow_type, theirs) == value, (seed, writer, reader)
            compared += 1
    assert compared > SEEDS


def as_columns(kind: pa.DataType, value: Any) -> Any:
    """A value of fastavro as Arrow shows it: maps as pairs."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {one.name: as_columns(one.type, value[one.name]) for one in kind}
    if pa.types.is_map(kind):
        return [(key, as_columns(kind.item_type, one)) for key, one in value.items()]
    if pa.types.is_list(kind):
        return [as_columns(kind.value_type, one) for one in value]
    return value


@pytest.mark.parametrize(
    ("writer", "reader", "data", "value"),
    [
        ("int", "long", zigzag(-7), -7),
        ("int", "float", zigzag(3), 3.0),
        ("int", "double", zigzag(3), 3.0),
        ("long", "float", zigzag(2**40), 2.0**40),
        ("long", "double", zigzag(2**53 + 1), 2.0**53),
        ("float", "double", struct.pack("<f", 0.1), struct.unpack("<f", struct.pack("<f", 0.1))[0]),
        ("string", "bytes", text("é"), "é".encode()),
        ("bytes", "string", text("é"), "é"),
        ("int", ["null", "string", "long"], zigzag(4), {"member0": None, "member1": 4}),
        (["null", "int"], "long", b"\2" + zigzag(4), 4),
        (["int", "long"], ["long", "int"], b"\2" + zigzag(2**40), 2**40),
        (["string", "int"], "int", b"\2" + zigzag(4), 4),
    ],
)
def test_values_are_promoted(writer: Any, reader: Any, data: bytes, value: Any) -> None:
    found = decode(reader, [data], writer)
    assert found.values.to_pylist() == [value], found.reasons


def test_fields_are_found_by_name_and_by_alias() -> None:
    writer = record(("a", "int"), ("gone", "string"), ("b", "int"))
    reader = record(("b", "int"), ("renamed", "int"))
    reader["fields"][1]["aliases"] = ["a"]
    data = zigzag(1) + text("x") + zigzag(2)
    assert decode(reader, [data], writer).values.to_pylist() == [{"b": 2, "renamed": 1}]


def test_an_enum_keeps_known_symbols_and_takes_its_default_for_others() -> None:
    writer = {"type": "enum", "name": "E", "symbols": ["A", "B", "C"]}
    reader = {"type": "enum", "name": "E", "symbols": ["C", "A"]}
    found = decode(reader, [zigzag(0), zigzag(1), zigzag(2), zigzag(3)], writer)
    assert found.values.to_pylist() == ["A", None, "C", None]
    assert "does not have the symbol" in found.reasons[1]
    assert "no symbol of this number" in found.reasons[3]
    found = decode({**reader, "default": "A"}, [zigzag(1)], writer)
    assert found.values.to_pylist() == ["A"]


DEFAULTS: list[tuple[Any, Any, Any]] = [
    ("boolean", True, True),
    ("int", -3, -3),
    ("long", 2**62, 2**62),
    ("float", 1.5, 1.5),
    ("double", 2, 2.0),
    ("string", "é", "é"),
    ("bytes", "\u00ff", b"\xff"),
    ("null", None, None),
    ({"type": "fixed", "name": "F", "size": 2}, "ab", b"ab"),
    ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B", "B"),
    ({"type": "array", "items": ["null", "string"]}, ["x", None, "yy"], ["x", None, "yy"]),
    ({"type": "array", "items": "int"}, [], []),
    ({"type": "map", "values": "long"}, {"k": 1, "l": 2}, [("k", 1), ("l", 2)]),
    (["null", "string"], None, None),
    (["string", "null"], "s", "s"),
    (["string", "int"], 5, {"member0": None, "member1": 5}),
    (record(("x", "int"), ("y", "string", "z"), name="In"), {"x": 1}, {"x": 1, "y": "z"}),
]


@pytest.mark.parametrize(("kind", "default", "value"), DEFAULTS, ids=lambda one: str(one)[:20])
def test_a_field_that_was_not_written_takes_its_default(
    kind: Any, default: Any, value: Any
) -> None:
    reader = record(("n", "int"), ("d", kind, default))
    found = decode(reader, [zigzag(1), zigzag(2)], record(("n", "int")))
    assert found.reasons == {}
    assert found.values.to_pylist() == [{"n": 1, "d": value}, {"n": 2, "d": value}]


@pytest.mark.parametrize(
    ("reader", "writer", "reason"),
    [
        (record(("b", "int")), record(("a", "int")), "field b: the writer has no such field"),
        (record(("a", "int")), record(("a", "string")), "field a: the writer's string cannot"),
        (record(("a", ["null", "int"])), record(("a", "string")), "field a: the reader's union"),
        ("string", "int", "the writer's int cannot be read as string"),
        (
            {"type": "fixed", "name": "F", "size": 2},
            {"type": "fixed", "name": "F", "size": 1},
            "fixed F cannot be read",
        ),
    ],
)
def test_what_cannot_be_resolved_is_told_with_its_field(
    reader: Any, writer: Any, reason: str
) -> None:
    found = decode(reader, [b"\2\2\2\2"], writer)
    assert found.values.to_pylist() == [None]
    assert reason in found.reasons[0]


def test_what_cannot_be_resolved_does_no_harm_where_it_is_not_met() -> None:
    writer, reader = (record(("a", {"type": "array", "items": k})) for k in ("string", "int"))
    assert json.dumps(writer) != json.dumps(reader)
    found = decode(reader, [b"\0", zigzag(1) + text("x") + b"\0"], writer)
    assert found.values.to_pylist() == [{"a": []}, None]
    assert "field a[]" in found.reasons[1]
