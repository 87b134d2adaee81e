"""Bytes that are not what they claim to be cost their row, and nothing else."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.avro_values import zigzag
from tests.unit.serde.avro_columns.decoding import column, decode, decoder, logical, record

NESTED = record(
    ("id", "long"),
    ("tags", {"type": "array", "items": {"type": "map", "values": ["null", "string", "double"]}}),
    ("inner", ["null", record(("e", {"type": "enum", "name": "E", "symbols": ["A"]}), name="I")]),
    ("nothing", {"type": "array", "items": "null"}),
    ("cost", logical("bytes", "decimal", precision=9, scale=2)),
    ("flag", "boolean"),
    ("raw", {"type": "fixed", "name": "F", "size": 3}),
    ("text", "string"),
)
READER = record(
    ("text", ["null", "string"]),
    ("tags", {"type": "array", "items": {"type": "map", "values": ["null", "string", "double"]}}),
    ("added", {"type": "array", "items": "string"}, ["a", "b"]),
    ("nothing", {"type": "array", "items": "null"}),
)
SOUND = (
    zigzag(1)
    + (zigzag(1) + zigzag(1) + b"\2k" + b"\2\2x" + b"\0" + b"\0")
    + b"\0"
    + b"\0"
    + (zigzag(1) + b"\1")
    + b"\1"
    + b"abc"
    + b"\2y"
)
nested, resolved = decoder(NESTED), decoder(READER, s7=NESTED)
numbers = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-3, 5)).map(zigzag)


@given(st.lists(st.one_of(st.binary(max_size=60), st.lists(numbers).map(b"".join)), max_size=6))
def test_any_bytes_are_read_or_refused(rows: list[bytes]) -> None:
    mixed = [one for row in rows for one in (row, SOUND)]
    for made in (nested, resolved):
        found = made.decode(column(mixed))
        found.values.validate(full=True)
        values = found.values.to_pylist()
        for row, value in enumerate(values):
            assert (value is None) == (row in found.reasons)
            if mixed[row] == SOUND:
                assert value["tags"] == [[("k", {"member0": "x", "member1": None})]]
                assert value["text"] == "y"


@given(st.binary(max_size=80), st.integers(0, 30), st.integers(0, 255))
def test_one_byte_that_was_changed_harms_its_row_at_most(
    tail: bytes, place: int, byte: int
) -> None:
    changed = bytearray(SOUND + tail)
    changed[place % len(changed)] = byte
    found = nested.decode(column([SOUND, bytes(changed), SOUND]))
    found.values.validate(full=True)
    first, _, last = found.values.to_pylist()
    assert first == last is not None


@pytest.mark.parametrize(
    ("schema", "data", "reason"),
    [
        ("long", b"", "ends inside"),
        ("long", b"\xff" * 9, "ends inside"),
        ("long", b"\xff" * 11, "too many bytes"),
        ("int", zigzag(2**31), "does not fit an int"),
        ("string", zigzag(-1), "length is negative"),
        ("string", zigzag(2**62) + b"x", "ends inside"),
        ("string", b"\2\xff", "not UTF-8"),
        ("string", b"\6\xed\xa0\x80", "not UTF-8"),
        ("string", b"\4\xc0\x80", "not UTF-8"),
        ("string", b"\4\xf0\x9f", "not UTF-8"),
        ("double", b"1234567", "ends inside"),
        ("boolean", b"", "ends inside"),
        (["null", "int"], zigzag(2), "no such branch"),
        (["null", "int"], zigzag(-1), "no such branch"),
        ({"type": "array", "items": "int"}, zigzag(2**62), "more items announced"),
        ({"type": "array", "items": "int"}, zigzag(-(2**63)) + b"\0", "more items announced"),
        ({"type": "array", "items": "null"}, zigzag(2**62), "1000 items without any data"),
        ({"type": "map", "values": "null"}, zigzag(2**62), "more items announced"),
        ({"type": "fixed", "name": "F", "size": 4}, b"abc", "ends inside"),
        (logical("bytes", "decimal", precision=2), zigzag(1) + b"\x64", "more digits"),
        (logical("bytes", "decimal", precision=2), zigzag(1) + b"\x9c", "more digits"),
        (logical("bytes", "decimal", precision=38), zigzag(17) + b"\1" * 17, "more digits"),
        (logical("long", "timestamp-millis"), zigzag(2**62), "out of range"),
        (logical("long", "timestamp-millis"), zigzag(-(2**62)), "out of range"),
    ],
)
def test_each_fault_has_its_sentence(schema: Any, data: bytes, reason: str) -> None:
    found = decode(schema, [data])
    assert found.values.to_pylist() == [None]
    assert reason in found.reasons[0]


@pytest.mark.parametrize(
    ("kind", "data", "reason"),
    [
        ({"type": "array", "items": "int"}, zigzag(-1) + zigzag(2**40), "ends inside"),
        ({"type": "array", "items": "int"}, zigzag(-1) + zigzag(-5), "length is negative"),
        ({"type": "array", "items": "int"}, zigzag(2**62), "more items announced"),
        ("string", zigzag(2**40), "ends inside"),
        ("bytes", zigzag(-3), "length is negative"),
        (["null"], zigzag(7), "no such branch"),
    ],
)
def test_what_is_skipped_is_checked_as_well(kind: Any, data: bytes, reason: str) -> None:
    found = decode(record(("n", "int")), [data], record(("skipped", kind), ("n", "int")))
    assert reason in found.reasons[0]
    assert "field skipped" in found.reasons[0]


def test_empty_items_that_are_skipped_cost_nothing() -> None:
    writer = record(("nothing", {"type": "array", "items": "null"}), ("n", "int"))
    found = decode(record(("n", "int")), [zigzag(2**62) + b"\0" + zigzag(5)], writer)
    assert found.values.to_pylist() == [{"n": 5}]


def test_a_value_without_its_header_is_told() -> None:
    rows = pa.array([b"", b"\0\0\0\0", b"\1\0\0\0\7\2", b"{}hello"], pa.binary())
    found = decoder("long").decode(rows)
    assert found.values.to_pylist() == [None] * 4
    assert "too short" in found.reasons[0]
    assert "too short" in found.reasons[1]
    assert "magic byte" in found.reasons[2]
    assert "magic byte" in found.reasons[3]


def test_a_writer_that_multiplies_itself_costs_its_rows_only() -> None:
    inner: Any = record(("x", "int"), name="R0")
    for level in range(1, 60):
        inner = record(("a", inner), ("b", f"R{level - 1}"), name=f"R{level}")
    for kind in (inner, {"type": "array", "items": inner}):
        writer = record(("n", "int"), ("huge", kind))
        found = decode(record(("n", "int")), [zigzag(5) + b"\0"], writer)
        assert "schema 7: The Avro schema is too large" in found.reasons[0]
