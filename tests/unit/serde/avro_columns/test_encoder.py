"""Columns to Avro bytes: what other programs read, and rows that do not fit."""

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from fastavro import parse_schema, schemaless_reader, schemaless_writer

from headrace.serde.avro_columns.encoder import AvroColumnEncoder
from headrace.serde.avro_columns.schema import parse_nodes
from headrace.serde.errors import SchemaError, SerdeError
from headrace.serde.wire import PREFIX_SIZE, prefix
from tests.support.avro_schemas import make_schema
from tests.support.avro_values import AvroValues, TooDeep
from tests.unit.serde.avro_columns.decoding import column, decoder, logical, nodes, record


def encoder(schema: Any, kind: pa.DataType) -> AvroColumnEncoder:
    return AvroColumnEncoder(nodes(schema), 7, kind)


def written(schema: Any, array: pa.Array) -> list[bytes | None]:
    found = encoder(schema, array.type).encode(array)
    found.values.validate(full=True)
    assert found.reasons == {}
    rows: list[bytes | None] = found.values.to_pylist()
    for row in rows:
        assert row is None or row[:PREFIX_SIZE] == prefix(7)
    return [None if row is None else row[PREFIX_SIZE:] for row in rows]


def read(schema: Any, data: bytes | None) -> Any:
    assert data is not None
    return schemaless_reader(io.BytesIO(data), parse_schema(schema), None)


def by_fastavro(schema: Any, value: Any) -> bytes:
    stream = io.BytesIO()
    schemaless_writer(stream, parse_schema(schema), value)
    return stream.getvalue()


def test_columns_of_any_schema_come_back_whole_and_sliced() -> None:
    compared = 0
    for seed in range(300):
        random = Random(seed)
        schema = make_schema(random)
        try:
            made = decoder(schema)
            values = AvroValues(random, schema)
            rows = [values.make()[0] if random.random() < 0.9 else None for _ in range(12)]
        except (SchemaError, TooDeep):
            continue
        decoded = made.decode(column(rows)).values
        for part in (decoded, decoded[3:9], decoded[:0]):
            encoded = encoder(schema, decoded.type).encode(part)
            encoded.values.validate(full=True)
            again = made.decode(encoded.values)
            assert encoded.reasons == again.reasons == {}
            assert again.values.to_pylist() == part.to_pylist(), json.dumps(schema)
        compared += 1
    assert compared > 150


ORDER = record(
    ("id", "long"),
    ("count", "int"),
    ("ratio", "float"),
    ("price", "double"),
    ("ok", "boolean"),
    ("name", "string"),
    ("raw", "bytes"),
    ("kind", {"type": "enum", "name": "Kind", "symbols": ["A", "LONGER", "B"]}),
    ("hash", {"type": "fixed", "name": "Hash", "size": 3}),
    ("note", ["null", "string"]),
    ("tags", {"type": "array", "items": "string"}),
    ("counts", {"type": "map", "values": "int"}),
    ("inner", ["null", record(("x", "int"), name="Inner")]),
)
ORDER_TYPE = pa.struct(
    [
        ("id", pa.int64()),
        ("count", pa.int32()),
        ("ratio", pa.float32()),
        ("price", pa.float64()),
        ("ok", pa.bool_()),
        ("name", pa.string()),
        ("raw", pa.binary()),
        ("kind", pa.string()),
        ("hash", pa.binary()),
        ("note", pa.string()),
        ("tags", pa.list_(pa.string())),
        ("counts", pa.map_(pa.string(), pa.int32())),
        ("inner", pa.struct([("x", pa.int32())])),
    ]
)


def order(number: int) -> dict[str, Any]:
    return {
        "id": (-1) ** number * 2 ** (number * 3),
        "count": number - 10,
        "ratio": number / 4,
        "price": number / 3,
        "ok": number % 2 == 0,
        "name": "ñ" * number,
        "raw": b"\xff" * number,
        "kind": ("A", "LONGER", "B")[number % 3],
        "hash": b"abc",
        "note": None if number % 2 else "",
        "tags": ["t"] * (number % 4),
        "counts": {"k": number} if number % 3 else {},
        "inner": {"x": number} if number % 2 else None,
    }


def test_the_bytes_are_those_of_fastavro() -> None:
    rows = [order(number) for number in range(20)]
    data = written(ORDER, pa.array(rows, ORDER_TYPE))
    assert data == [by_fastavro(ORDER, row) for row in rows]


def test_fields_are_found_by_name_and_missing_ones_take_their_default() -> None:
    schema = record(
        ("b", "string"),
        ("list", {"type": "array", "items": "bytes"}, ["\u00ff"]),
        ("u", ["null", "int"], None),
        ("a", "long"),
    )
    array = pa.array([{"a": 1, "b": "x"}], pa.struct([("a", pa.int32()), ("b", pa.string())]))
    (data,) = written(schema, array)
    assert read(schema, data) == {"b": "x", "list": [b"\xff"], "u": None, "a": 1}


@pytest.mark.parametrize(
    ("schema", "kind", "value", "expected"),
    [
        (logical("int", "date"), pa.date32(), date(2020, 1, 1), None),
        (
            logical("long", "timestamp-millis"),
            pa.timestamp("us", "UTC"),
            datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC),
            None,
        ),
        (
            logical("long", "timestamp-micros"),
            pa.timestamp("us", "UTC"),
            datetime(2020, 1, 1, 0, 0, 0, 1, UTC),
            None,
        ),
        (logical("bytes", "decimal", precision=38, scale=3), pa.decimal128(38, 3), "-0.001", None),
        (logical("bytes", "decimal", precision=38), pa.decimal128(38, 0), str(10**38 - 1), None),
        (logical("bytes", "decimal", precision=38), pa.decimal128(38, 0), "-128", None),
        (logical("bytes", "decimal", precision=38), pa.decimal128(38, 0), "128", None),
        (
            {"type": "fixed", "name": "F", "size": 20}
            | logical("fixed", "decimal", precision=38, scale=2),
            pa.decimal128(38, 2),
            "-12345.67",
            None,
        ),
        ("long", pa.int8(), -5, -5),
        ("int", pa.int16(), 300, 300),
        ("double", pa.float32(), 0.5, 0.5),
        ("double", pa.int32(), 7, 7.0),
        ("bytes", pa.string(), "é", "é".encode()),
        (["int", "string"], pa.string(), "x", "x"),
        ("string", pa.large_string(), "x", "x"),
    ],
)
def test_types_of_columns_are_written_as_types_of_avro(
    schema: Any, kind: pa.DataType, value: Any, expected: Any
) -> None:
    value = Decimal(value) if pa.types.is_decimal(kind) else value
    (data,) = written(schema, pa.array([value], kind))
    assert read(schema, data) == (value if expected is None else expected)


def test_null_rows_are_null_and_a_row_that_does_not_fit_is_told() -> None:
    schema = record(
        ("n", "int"), ("e", {"type": "enum", "name": "E", "symbols": ["A"]}), ("f", _fixed(2))
    )
    kind = pa.struct([("n", pa.int32()), ("e", pa.string()), ("f", pa.binary())])
    rows = [
        {"n": 1, "e": "A", "f": b"xy"},
        None,
        {"n": None, "e": "A", "f": b"xy"},
        {"n": 1, "e": "B", "f": b"xy"},
        {"n": 1, "e": "A", "f": b"x"},
        {"n": 2, "e": "A", "f": b"zz"},
    ]
    found = encoder(schema, kind).encode(pa.array(rows, kind))
    assert [row is None for row in found.values.to_pylist()] == [
        False,
        True,
        True,
        True,
        True,
        False,
    ]
    assert list(found.reasons) == [2, 3, 4]
    assert "field n: it is null" in found.reasons[2]
    assert "field e: the enum has no such symbol" in found.reasons[3]
    assert "field f: its length" in found.reasons[4]
    assert decoder(schema).decode(found.values).values.to_pylist()[5] == rows[5]


def _fixed(size: int) -> dict[str, Any]:
    return {"type": "fixed", "name": "F", "size": size}


@pytest.mark.parametrize(
    ("schema", "kind", "sentence"),
    [
        (record(("a", "int")), pa.struct([("a", pa.string())]), "field a is string, which cannot"),
        (record(("a", "int")), pa.struct([("b", pa.int32())]), "field a is not in the column"),
        (
            record(("a", "int")),
            pa.struct([("a", pa.int32()), ("b", pa.int32())]),
            "The schema has no field b",
        ),
        ("int", pa.int64(), "The column is int64, which cannot be written as Avro's int"),
        (["null", "int"], pa.string(), "cannot be written as Avro's union"),
        ("string", pa.duration("us"), r"type duration\[us\] cannot be written"),
        (
            logical("bytes", "decimal", precision=5, scale=2),
            pa.decimal128(9, 2),
            "cannot be written",
        ),
    ],
)
def test_columns_that_do_not_fit_a_schema_are_refused_at_once(
    schema: Any, kind: pa.DataType, sentence: str
) -> None:
    with pytest.raises(SerdeError, match=sentence):
        encoder(schema, kind)


def test_a_union_of_several_types_is_written_from_its_members() -> None:
    schema = ["null", "int", "string"]
    kind = pa.struct([("member0", pa.int32()), ("member1", pa.string())])
    rows = [{"member0": 5, "member1": None}, {"member0": None, "member1": "x"}]
    made = encoder(record(("u", schema)), pa.struct([("u", kind)]))
    neither, both = {"member0": None, "member1": None}, {"member0": 1, "member1": "y"}
    found = made.encode(pa.array([{"u": one} for one in (*rows, None, neither, both)]))
    assert list(found.reasons) == [4]
    data = [None if row is None else row[PREFIX_SIZE:] for row in found.values.to_pylist()]
    shown = [read(record(("u", schema)), one)["u"] for one in data[:4]]
    assert shown == [5, "x", None, None]


def test_what_is_written_may_be_longer_than_any_guess() -> None:
    array = pa.array(["x" * 10_000 * n for n in range(30)])
    assert [read("string", row) for row in written("string", array)] == array.to_pylist()
    node = parse_nodes('{"type":"array","items":"string"}')
    lists = pa.array([["y" * 5000] * n for n in range(40)], pa.list_(pa.string()))
    found = AvroColumnEncoder(node, 7, lists.type).encode(lists)
    assert found.values.to_pylist()[39][PREFIX_SIZE:] == by_fastavro(
        {"type": "array", "items": "string"}, ["y" * 5000] * 39
    )
