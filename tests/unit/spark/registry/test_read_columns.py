"""Values decoded while a topic is read: what the source needs."""

import pyarrow as pa
import pytest

from headrace.serde.schema import AVRO, JSON, Reference, Schema
from headrace.serde.wire import prefix
from headrace.spark.registry.decoding import PinnedReader, pin_reader
from headrace.spark.registry.read_columns import decode_values, read_reader, write_reader
from tests.support.small_registry import SmallRegistry


def test_a_pinned_reader_is_the_same_after_its_way_through_an_option() -> None:
    schema = Schema('"x"', JSON, (Reference("a", "b", 3),))
    reader = PinnedReader((("schema.registry.url", "http://a"),), schema, (("a", schema),), "m")
    assert read_reader(write_reader(reader)) == reader


@pytest.mark.parametrize(
    ("kind", "schema", "value"), [(AVRO, '"int"', b"\x0a"), (JSON, "{}", b"5")]
)
def test_values_are_decoded_where_they_lie(
    registry: SmallRegistry, kind: str, schema: str, value: bytes
) -> None:
    registry.add("s", {"schema": schema, "schemaType": kind})
    settings = (("schema.registry.url", registry.url),)
    text = write_reader(pin_reader(settings, subject="s"))
    data = b"...." + prefix(1) + value + b"junk!!"
    values, errors = decode_values(text, data, [4, 0, 10], [6, -1, 6])
    assert values.cast(pa.string()).to_pylist() == ["5", None, None]
    first, second, third = errors.to_pylist()
    assert first is second is None
    assert "magic byte" in third
