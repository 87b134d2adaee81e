"""JSON in the wire format as columns: which types, which values, which reasons."""

import json
from typing import Any

import pyarrow as pa
import pytest

from headrace.serde.errors import RegistryUnavailableError
from headrace.serde.registry_client import RegistryClient
from headrace.serde.schema import JSON, Reference, Schema
from headrace.serde.wire import prefix
from headrace.spark.registry.decoding import decoder_for, pin_reader
from tests.support.small_registry import SmallRegistry


def settings(registry: SmallRegistry) -> tuple[tuple[str, str], ...]:
    return (("schema.registry.url", registry.url),)


def decoded(registry: SmallRegistry, schema: Any, *values: Any) -> tuple[pa.Array, dict[int, str]]:
    schema_id = registry.add("s", {"schema": json.dumps(schema), "schemaType": JSON})
    reader = pin_reader(settings(registry), subject="s")
    rows = [prefix(schema_id) + json.dumps(value).encode() for value in values]
    found = decoder_for(reader).decode(pa.array(rows, pa.binary()))
    return found.values, found.reasons


@pytest.mark.parametrize(
    ("schema", "value", "column"),
    [
        ({"type": "string"}, "x", "x"),
        ({"type": "integer"}, 5.0, 5),
        ({"type": ["null", "number"]}, 5, 5.0),
        ({"enum": ["a", "b", None]}, "a", "a"),
        ({"oneOf": [{"type": "null"}, {"type": "boolean"}]}, True, True),
        ({"type": ["string", "integer"]}, 5, "5"),
        (True, {"a": [1]}, '{"a":[1]}'),
        ({"type": "array", "items": {"type": "integer"}}, [1, None], [1, None]),
        ({"type": "array"}, [1, "x"], '[1,"x"]'),
        ({"additionalProperties": {"type": "integer"}}, {"a": 1}, [("a", 1)]),
        ({"properties": {"a": {"type": "string"}}}, {"b": 1}, {"a": None}),
        ({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}, 3, 3),
        (
            {"properties": {"next": {"$ref": "#"}, "n": {"type": "integer"}}},
            {"n": 1, "next": {"n": 2}},
            {"n": 1, "next": '{"n":2}'},
        ),
    ],
)
def test_values_become_columns(
    registry: SmallRegistry, schema: Any, value: Any, column: Any
) -> None:
    values, reasons = decoded(registry, schema, value)
    assert reasons == {}
    assert values.to_pylist() == [column]


def test_values_that_columns_cannot_hold_are_told_with_their_field(
    registry: SmallRegistry,
) -> None:
    inner = {"type": "array", "items": {"type": "integer"}}
    schema = {"type": "object", "properties": {"a": inner}}
    values, reasons = decoded(registry, schema, {"a": [1]}, {"a": [1, "x"]}, [], {"a": [2**63]})
    assert values.to_pylist() == [{"a": [1]}, None, None, None]
    assert reasons[1].endswith('field a[] holds "x", not integer.')
    assert reasons[2].endswith("it is [], not an object.")
    assert "not an integer of 64 bits" in reasons[3]


def test_what_is_no_json_or_has_no_header_is_told(registry: SmallRegistry) -> None:
    registry.add("s", {"schema": "{}", "schemaType": JSON})
    decoder = decoder_for(pin_reader(settings(registry), subject="s"))
    rows = [None, b"", b"{}xxxxx", prefix(1) + b"{", prefix(9) + b"{}", prefix(9) + b"[]"]
    found = decoder.decode(pa.array(rows, pa.binary()))
    assert found.values.to_pylist() == [None] * 6
    assert list(found.reasons) == [1, 2, 3, 4, 5]
    assert registry.asked.count("GET /schemas/ids/9") == 1
    assert "not JSON" in found.reasons[3]
    assert "does not know schema 9" in found.reasons[4]


def test_types_of_references_are_known(registry: SmallRegistry) -> None:
    registry.add("city", {"schema": '{"type":"string"}', "schemaType": JSON})
    client = RegistryClient.from_settings({"schema.registry.url": registry.url})
    schema = Schema(
        '{"properties":{"c":{"$ref":"city.json"}}}', JSON, (Reference("city.json", "city", 1),)
    )
    client.register("s", schema)
    client.close()
    reader = pin_reader(settings(registry), subject="s")
    assert decoder_for(reader).arrow_type == pa.struct([("c", pa.string())])


def test_a_registry_that_is_gone_is_no_fault_of_a_record(registry: SmallRegistry) -> None:
    unreachable = (("schema.registry.url", "http://127.0.0.1:1"),)
    with pytest.raises(RegistryUnavailableError):
        pin_reader(unreachable, subject="s")
    for text, kind in (('"long"', "AVRO"), ("{}", JSON)):
        reader = pin_reader(unreachable, reader_schema=text, schema_type=kind)
        with pytest.raises(RegistryUnavailableError):
            decoder_for(reader).decode(pa.array([prefix(1) + b"\2"], pa.binary()))
