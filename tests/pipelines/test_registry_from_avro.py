"""Our columns beside those of Spark's own `from_avro`: the same types and the same values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from headrace.serde.errors import SchemaError
from headrace.serde.wire import prefix
from headrace.spark.registry.clients import close_clients
from tests.support.avro_schemas import make_schema
from tests.support.avro_values import AvroValues, TooDeep
from tests.support.small_registry import SmallRegistry, small_registry

LOGICAL = {
    "type": "record",
    "name": "Logical",
    "fields": [
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "ms", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "us", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
        {
            "name": "cost",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 3},
        },
        {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "number", "type": ["null", "int", "long"]},
        {"name": "real", "type": ["float", "double"]},
    ],
}
LOGICAL_ROWS = [
    b"\x02\x06\x06\x06" + b"\x04\xfe\x0c" + b"\x02u" + b"\x00" + b"\x00\x00\x00\xc0\x3f",
    b"\x01\x01\x01\x01" + b"\x02\x00" + b"\x00" + b"\x04\x02" + b"\x02" + bytes(8),
]
SCHEMAS = 12
ROWS = 15


@pytest.fixture
def registry() -> Iterator[SmallRegistry]:
    with small_registry() as found:
        yield found
        close_clients()


def samples() -> list[tuple[Any, list[bytes]]]:
    """Records that have a type in Spark, with some of their values."""
    found: list[tuple[Any, list[bytes]]] = [(LOGICAL, LOGICAL_ROWS)]
    seed = 0
    while len(found) < SCHEMAS:
        random = Random(seed)
        seed += 1
        schema = make_schema(random)
        if not isinstance(schema, dict) or not schema.get("fields"):
            continue
        try:
            from headrace.serde.avro_columns.layout import Layout
            from headrace.serde.avro_columns.schema import parse_nodes

            Layout(parse_nodes(json.dumps(schema)))
            values = AvroValues(random, schema)
            found.append((schema, [values.make()[0] for _ in range(ROWS)]))
        except (SchemaError, TooDeep):
            continue
    return found


def test_spark_sees_the_same_columns(spark: Any, registry: SmallRegistry) -> None:
    from pyspark.sql import functions as sql
    from pyspark.sql.avro.functions import from_avro

    from headrace.spark.registry.functions import from_registry

    for number, (schema, rows) in enumerate(samples()):
        text = json.dumps(schema)
        subject = f"s{number}"
        schema_id = registry.add(subject, {"schema": text})
        data = [(bytearray(prefix(schema_id) + row),) for row in rows]
        df = spark.createDataFrame(data, "value binary").coalesce(1)
        both = df.select(
            from_registry("value", subject=subject, url=registry.url).alias("ours"),
            from_avro(sql.expr("substring(value, 6)"), text).alias("theirs"),
        )
        ours, theirs = both.schema
        assert ours.dataType.simpleString() == theirs.dataType.simpleString(), text
        for row in both.collect():
            assert row.ours is not None, text
            assert row.ours == row.theirs, text
