"""Avro bytes to columns: the values, and rows of several schemas in one column."""

import json
import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from headrace.serde.avro_columns import decoder as decoder_module
from headrace.serde.avro_columns.schema import parse_nodes
from headrace.serde.errors import SchemaError
from headrace.serde.wire import prefix
from tests.support.avro_schemas import make_schema
from tests.support.avro_values import AvroValues, TooDeep, zigzag
from tests.unit.serde.avro_columns.decoding import column, decode, decoder, logical, nodes, record

SEEDS = 400


def text(value: str) -> bytes:
    return zigzag(len(value.encode())) + value.encode()


def test_values_of_any_schema_become_columns() -> None:
    compared = 0
    for seed in range(SEEDS):
        random = Random(seed)
        schema = make_schema(random)
        try:
            made = decoder(schema)
            values = AvroValues(random, schema)
            rows = [values.make() for _ in range(10)]
        except (SchemaError, TooDeep):
            continue
        # Between them, rows that break off: what they wrote is taken back.
        cut = [(data[:-1], None) if data else (None, None) for data, _ in rows]
        mixed = [one for pair in zip(rows, cut, strict=True) for one in pair]
        found = made.decode(column([data for data, _ in mixed]))
        found.values.validate(full=True)
        assert found.values.to_pylist() == [value for _, value in mixed], json.dumps(schema)
        compared += 1
    assert compared > SEEDS // 2


def test_null_stays_null_without_a_reason() -> None:
    found = decode("long", [None, zigzag(5), None])
    assert found.values.to_pylist() == [None, 5, None]
    assert found.reasons == {}


def test_rows_of_several_schemas_are_decoded_in_their_order() -> None:
    old, new = record(("a", "int")), record(("b", "string"), ("a", "long"))
    made = decoder(record(("a", "long"), ("b", "string", "?")), s1=old, s2=new)
    rows = [prefix(1) + zigzag(1), prefix(2) + text("x") + zigzag(2), prefix(1) + zigzag(3)]
    assert made.decode(pa.array(rows, pa.binary())).values.to_pylist() == [
        {"a": 1, "b": "?"},
        {"a": 2, "b": "x"},
        {"a": 3, "b": "?"},
    ]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_a_slice_of_a_column_is_decoded_alone(kind: pa.DataType) -> None:
    whole = pa.array([prefix(7) + zigzag(n) for n in range(10)] + [None], kind)
    found = decoder("long").decode(whole[3:6])
    assert found.values.to_pylist() == [3, 4, 5]
    assert decoder("long").decode(whole[8:]).values.to_pylist() == [8, 9, None]
    assert decoder("long").decode(whole[:0]).values.to_pylist() == []


def test_memory_grows_with_the_data() -> None:
    schema = record(("names", {"type": "array", "items": ["null", "string"]}), ("n", "long"))
    rows, values = [], []
    for number in range(50):
        names = [None if n % 7 == 0 else "x" * n for n in range(number * 10)]
        items = b"".join(b"\0" if one is None else b"\2" + text(one) for one in names)
        block = zigzag(len(names)) + items if names else b""
        rows.append(block + b"\0" + zigzag(number))
        values.append({"names": names, "n": number})
    assert decode(schema, rows).values.to_pylist() == values


def test_an_unknown_id_is_named_and_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[int, Any] = {}

    def find(schema_id: int) -> Any:
        if schema_id not in known:
            raise SchemaError(f"The registry does not know schema {schema_id}.")
        return known[schema_id]

    made = decoder_module.AvroColumnDecoder(nodes("long"), find)
    rows = pa.array([prefix(9) + zigzag(1)], pa.binary())
    assert "does not know schema 9" in made.decode(rows).reasons[0]
    known[9] = nodes("int")
    monkeypatch.setattr(decoder_module, "_ASK_AGAIN_S", 0.0)
    made._unknown_until[9] = 0.0
    assert made.decode(rows).values.to_pylist() == [1]


# ---------------------------------------------------------------- types


def test_logical_types_have_columns_of_their_own() -> None:
    schema = record(
        ("day", logical("int", "date")),
        ("ms", logical("long", "timestamp-millis")),
        ("us", logical("long", "timestamp-micros")),
        ("local", logical("long", "local-timestamp-millis")),
        ("cost", logical("bytes", "decimal", precision=20, scale=2)),
        (
            "fixed",
            {"type": "fixed", "name": "F", "size": 3} | logical("fixed", "decimal", precision=6),
        ),
        ("id", logical("string", "uuid")),
    )
    data = (
        zigzag(1)
        + zigzag(1500)
        + zigzag(-1)
        + zigzag(0)
        + (zigzag(2) + b"\xfe\x0c")
        + b"\x00\x00\x05"
        + text("u")
    )
    found = decode(schema, [data]).values
    assert found.to_pylist() == [
        {
            "day": date(1970, 1, 2),
            "ms": datetime(1970, 1, 1, 0, 0, 1, 500_000, UTC),
            "us": datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
            "local": datetime(1970, 1, 1),  # noqa: DTZ001 - a local time has no zone
            "cost": Decimal("-5.00"),
            "fixed": Decimal(5),
            "id": "u",
        }
    ]
    assert found.type.field("us").type == pa.timestamp("us", "UTC")
    assert found.type.field("local").type == pa.timestamp("us")


@pytest.mark.parametrize(
    "number",
    [0, 1, -1, 10**38 - 1, 1 - 10**38, 2**64, -(2**64), 2**63, -(2**63), 2**64 - 1, 1 - 2**64],
)
def test_decimals_of_any_length_keep_their_value(number: int) -> None:
    schema = logical("bytes", "decimal", precision=38)
    rows = []
    for size in (16, 17, 30):
        data = number.to_bytes(size, "big", signed=True)
        rows.append(zigzag(len(data)) + data)
    assert decode(schema, rows).values.to_pylist() == [Decimal(number)] * 3


def test_timestamps_are_read_in_the_unit_they_were_written_in() -> None:
    micros, millis = logical("long", "timestamp-micros"), logical("long", "timestamp-millis")
    nanos = logical("long", "timestamp-nanos")
    at = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert decode(micros, [zigzag(1000)], millis).values.to_pylist() == [at]
    assert decode(millis, [zigzag(1_000_000)], micros).values.to_pylist() == [at]
    assert decode(micros, [zigzag(1_000_000_999)], nanos).values.to_pylist() == [at]
    assert decode(millis, [zigzag(1000)], "long").values.to_pylist() == [at]


def test_bits_of_reals_are_kept() -> None:
    rows = [struct.pack("<d", number) for number in (1e300, -0.0, float("inf"))]
    assert str(decode("double", rows).values.to_pylist()) == "[1e+300, -0.0, inf]"
    found = decode({"type": "array", "items": "double"}, [zigzag(1) + rows[0] + b"\0"], None)
    assert found.values.to_pylist() == [[1e300]]


# ---------------------------------------------------------------- schemas that are refused


def test_a_reader_that_contains_itself_is_refused() -> None:
    tree = record(("next", ["null", "R"]))
    with pytest.raises(SchemaError, match=r"recursive: R contains itself at next"):
        decoder(tree)


def test_a_writer_that_contains_itself_is_skipped_where_nobody_reads_it() -> None:
    tree = record(("left", ["null", "T"]), ("right", {"type": "array", "items": "T"}), name="T")
    writer = record(("tree", tree), ("n", "int"))
    leaf = b"\0\0"
    deep = b"\2" + leaf + zigzag(2) + leaf + leaf + b"\0"
    found = decode(record(("n", "int")), [deep + zigzag(5), leaf + zigzag(6)], writer)
    assert found.values.to_pylist() == [{"n": 5}, {"n": 6}]
    endless = b"\2" * 5000
    assert "too deeply" in decode(record(("n", "int")), [endless], writer).reasons[0]


def test_a_decimal_that_no_column_can_hold_is_refused() -> None:
    with pytest.raises(SchemaError, match="at d has 39 digits"):
        decoder(record(("d", logical("bytes", "decimal", precision=39))))


def test_a_schema_that_multiplies_itself_is_refused() -> None:
    inner: Any = record(("x", "int"), name="R0")
    for level in range(1, 20):
        inner = record(("a", inner), ("b", f"R{level - 1}"), name=f"R{level}")
    with pytest.raises(SchemaError, match="more than 10000 columns"):
        decoder(inner)


def test_references_are_known_by_name() -> None:
    kind = '{"type":"enum","name":"shop.Kind","symbols":["A","B"]}'
    user = '{"type":"record","name":"shop.R","fields":[{"name":"k","type":"shop.Kind"}]}'
    node = parse_nodes(user, [kind])
    made = decoder_module.AvroColumnDecoder(node, lambda _id: node)
    assert made.decode(column([zigzag(1)])).values.to_pylist() == [{"k": "B"}]


def test_rows_may_lie_anywhere_in_their_data() -> None:
    data = b"--" + prefix(7) + zigzag(5) + b"--" + prefix(7) + zigzag(6)
    made = decoder("long")
    found = made.decode_slices(data, [10, 0, 2], [6, -1, 6])
    assert found.values.to_pylist() == [6, None, 5]
    assert found.reasons == {}
    assert made.decode_slices(data, [2], [7]).values.to_pylist() == [5]
    for positions, lengths in (([-1], [6]), ([11], [6]), ([2], [6, 6])):
        with pytest.raises(SchemaError):
            made.decode_slices(data, positions, lengths)
