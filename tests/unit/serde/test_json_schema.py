"""JSON Schema: what fits, what does not, references."""

import pytest

from headrace.serde.errors import SchemaError, SerdeError
from headrace.serde.json_schema import JsonSchemaCodec
from headrace.serde.schema import JSON, Schema

CUSTOMER = '{"type":"object","properties":{"name":{"type":"string"}}}'
ORDER = """{"title":"Order","type":"object","required":["id"],
 "properties":{"id":{"type":"integer"},"customer":{"$ref":"customer.json"}}}"""


def order() -> JsonSchemaCodec:
    return JsonSchemaCodec(Schema(ORDER, JSON), {"customer.json": Schema(CUSTOMER, JSON)})


def test_what_fits_is_written_compactly_and_comes_back() -> None:
    data = order().encode({"id": 1, "customer": {"name": "Ann"}})
    assert data == b'{"id":1,"customer":{"name":"Ann"}}'
    assert order().decode(b"12345" + data, 5) == {"id": 1, "customer": {"name": "Ann"}}


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({}, '"id" is a required property'),
        ({"id": "x"}, 'field id: "x" is not of type "integer"'),
        ({"id": 1, "customer": {"name": 3}}, 'field customer.name: 3 is not of type "string"'),
        ([], "is not of type"),
    ],
)
def test_what_does_not_fit_is_told_with_its_field(value: object, sentence: str) -> None:
    with pytest.raises(SerdeError, match=sentence):
        order().encode(value)


@pytest.mark.parametrize("value", [object(), {1: 2}, float, b"x"])
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(SerdeError, match="cannot be written as JSON"):
        order().encode(value)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"{}x"])
def test_bytes_that_are_no_json_are_refused(data: bytes) -> None:
    with pytest.raises(SerdeError, match="not JSON"):
        order().decode(data, 0)


@pytest.mark.parametrize("text", ["{", '{"type":"nope"}', '{"$ref":"nowhere.json"}', "[" * 9999])
def test_a_schema_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(SchemaError):
        JsonSchemaCodec(Schema(text, JSON), {})


def test_the_draft_of_the_schema_is_used() -> None:
    text = """{"$schema":"https://json-schema.org/draft/2020-12/schema",
     "prefixItems":[{"type":"integer"}]}"""
    made = JsonSchemaCodec(Schema(text, JSON), {})
    made.encode([1])
    with pytest.raises(SerdeError):
        made.encode(["x"])
