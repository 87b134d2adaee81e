"""Our Avro rules against Avro's own Java library, over thousands of generated schemas."""

import json
from collections.abc import Iterator
from random import Random

import pytest

from headrace.registry.avro.schema import AvroSchema, parse_avro
from headrace.registry.errors import InvalidSchemaError
from tests.support.avro_oracle import AvroOracle
from tests.support.avro_schemas import change_schema, make_schema
from tests.support.tools import require_java

pytestmark = pytest.mark.no_second_chance

PAIRS = 4000
AMBIGUOUS = "AMBIGUOUS_FIELD_ALIAS"


@pytest.fixture(scope="module")
def oracle() -> Iterator[AvroOracle]:
    require_java()
    with AvroOracle() as oracle:
        yield oracle


def parsed(text: str) -> AvroSchema | None:
    try:
        return parse_avro(text, {}, is_new=True)
    except InvalidSchemaError:
        return None


def kinds(reader: str, writer: str) -> list[str] | None:
    first, second = parsed(reader), parsed(writer)
    if first is None or second is None:
        return None
    return sorted({one.kind for one in first.unreadable(second)})


def test_verdicts_on_readers_and_writers_are_avros_own(oracle: AvroOracle) -> None:
    random = Random(5)
    pairs = []
    for _ in range(PAIRS // 2):
        old = make_schema(random)
        new = change_schema(random, old)
        texts = json.dumps(old), json.dumps(new)
        pairs += [texts, (texts[1], texts[0])]
    readable = 0
    for (reader, writer), verdict in zip(pairs, oracle.compare(pairs), strict=True):
        ours = kinds(reader, writer)
        if verdict is None:
            # Avro's checker gives up where an alias makes a field ambiguous.
            assert ours is None or AMBIGUOUS in ours, (reader, writer)
            continue
        assert ours == sorted({one.split("@")[0] for one in verdict}), (reader, writer)
        readable += verdict == []
    # Both verdicts are met often, or the comparison says little.
    assert PAIRS // 5 < readable < PAIRS * 4 // 5


def test_places_of_differences_are_avros_own_outside_of_unions(oracle: AvroOracle) -> None:
    """Inside unions Avro itself loses the way to a place."""
    random = Random(6)
    pairs: list[tuple[str, str]] = []
    while len(pairs) < 1000:
        old = make_schema(random)
        text = json.dumps(old)
        if '["' not in text.replace('"symbols": ["', "").replace('"aliases": ["', ""):
            pairs.append((text, json.dumps(change_schema(random, old))))
    for (reader, writer), verdict in zip(pairs, oracle.compare(pairs), strict=True):
        first, second = parsed(reader), parsed(writer)
        if verdict is None or '["null"' in writer:
            continue
        assert first is not None
        assert second is not None
        ours = {f"{one.kind}@{one.path}" for one in first.unreadable(second)}
        assert ours == set(verdict), (reader, writer)


def test_stored_texts_are_what_avro_prints(oracle: AvroOracle) -> None:
    random = Random(7)
    schemas = [json.dumps(make_schema(random)) for _ in range(2000)]
    decimal = (
        '{"type":"record","name":"x.R","doc":"d","aliases":["x.Q","y.P"],"p":{"b":1,"a":[2.50]},'
        '"fields":[{"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":4,'
        '"scale":2},"default":"\\u00ff","custom":1e9}]}'
    )
    schemas += [
        decimal,
        '{"type":"enum","name":"E","symbols":["A","B"],"default":"B","doc":"e"}',
        '{"type":"fixed","name":"F","namespace":"n","size":3,"aliases":["G"]}',
        '{"type":"string","avro.java.string":"String"}',
        '"int"',
        '["null",{"type":"map","values":["int","string"]}]',
    ]
    for schema, printed in zip(schemas, oracle.write(schemas), strict=True):
        ours = parsed(schema)
        assert (None if ours is None else ours.canonical()) == printed, schema
