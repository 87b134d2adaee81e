"""Avro's columns against Avro's own Java library, over thousands of generated schemas."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from headrace.serde.avro_columns.decoder import AvroColumnDecoder
from headrace.serde.avro_columns.encoder import AvroColumnEncoder
from headrace.serde.avro_columns.schema import parse_nodes
from headrace.serde.errors import SchemaError
from headrace.serde.wire import PREFIX_SIZE, prefix
from tests.support.avro_schemas import change_schema, make_schema
from tests.support.avro_value_oracle import AvroValueOracle
from tests.support.avro_values import AvroValues, TooDeep
from tests.support.tools import require_java

PAIRS = 4000
ROWS = 6


@pytest.fixture(scope="module")
def oracle() -> Iterator[AvroValueOracle]:
    require_java()
    with AvroValueOracle() as oracle:
        yield oracle


def decoder(reader: str, writer: str) -> AvroColumnDecoder:
    node = parse_nodes(writer)
    return AvroColumnDecoder(parse_nodes(reader), lambda _id: node)


def column(values: list[bytes | None]) -> pa.Array:
    return pa.array([None if one is None else prefix(1) + one for one in values], pa.binary())


def in_order(value: Any) -> Any:
    """Java keeps maps in no order."""
    if isinstance(value, dict):
        return {name: in_order(one) for name, one in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return sorted((key, in_order(one)) for key, one in value)
    return [in_order(one) for one in value] if isinstance(value, list) else value


def test_what_a_reader_sees_of_a_writers_data_is_what_java_sees(oracle: AvroValueOracle) -> None:
    questions = []
    for seed in range(PAIRS):
        random = Random(seed)
        writer = make_schema(random)
        reader = change_schema(random, writer)
        if random.random() < 0.5:
            writer, reader = reader, writer
        texts = json.dumps(writer), json.dumps(reader)
        try:
            decoder(texts[1], texts[0])
            values = AvroValues(random, writer)
            questions.append((*texts, [values.make()[0] for _ in range(ROWS)]))
        except (SchemaError, TooDeep):
            continue
    read = refused = 0
    for (writer_, reader_, rows), answers in zip(questions, oracle.read(questions), strict=True):
        if answers is None:
            continue  # Java refuses the schema itself
        ours = decoder(reader_, writer_).decode(column(list(rows)))
        theirs = decoder(reader_, reader_).decode(column(answers))
        assert not theirs.reasons
        shown = ours.values.to_pylist()
        for row, (one, other) in enumerate(zip(shown, theirs.values.to_pylist(), strict=True)):
            assert (row in ours.reasons) == (answers[row] is None), (writer_, reader_, rows[row])
            assert in_order(one) == in_order(other), (writer_, reader_, rows[row])
            refused += answers[row] is None
            read += answers[row] is not None
    # Both are met often, or the comparison says little.
    assert read > PAIRS * 2
    assert refused > PAIRS // 2


def test_java_reads_what_columns_were_written_as(oracle: AvroValueOracle) -> None:
    questions, expected = [], []
    for seed in range(PAIRS // 4):
        random = Random(seed)
        schema = make_schema(random)
        text = json.dumps(schema)
        try:
            made = decoder(text, text)
            values = AvroValues(random, schema)
            rows = [values.make()[0] for _ in range(ROWS)]
        except (SchemaError, TooDeep):
            continue
        # A null that is the whole value is a null row, not a record.
        found = made.decode(column(list(rows))).values.drop_null()
        encoded = AvroColumnEncoder(parse_nodes(text), 1, found.type).encode(found)
        assert not encoded.reasons
        data = [one[PREFIX_SIZE:] for one in encoded.values.to_pylist()]
        questions.append((text, text, data))
        expected.append(found.to_pylist())
    compared = 0
    for (text, _, _), answers, values_ in zip(
        questions, oracle.read(questions), expected, strict=True
    ):
        if not answers:
            continue
        shown = decoder(text, text).decode(column(answers)).values.to_pylist()
        assert in_order(shown) == in_order(values_), text
        compared += 1
    assert compared > PAIRS // 10
