"""JSON Schema: what a reader cannot take, and no reader that is let pass fails on a document."""

import json
from random import Random
from typing import Any

import jsonschema_rs
import pytest

from headrace.registry.core.languages import parse
from headrace.registry.errors import InvalidSchemaError
from tests.support.json_schemas import change_schema, make_document, make_schema


def differences(old: Any, new: Any) -> list[str]:
    """What keeps `new` from reading data of `old`."""
    texts = (json.dumps(new), json.dumps(old))
    reader, writer = (parse("JSON", text, {}, is_new=True) for text in texts)
    return [f"{one.kind} {one.path}" for one in reader.unreadable(writer)]


def closed(**properties: Any) -> Any:
    return {"type": "object", "properties": properties, "additionalProperties": False}


TEXT, NUMBER = {"type": "string"}, {"type": "number"}


def test_a_property_can_be_added_to_a_closed_object_and_not_to_an_open_one() -> None:
    assert differences(closed(a=TEXT), closed(a=TEXT, b=TEXT)) == []
    open_before = {"type": "object", "properties": {"a": TEXT}}
    open_after = {"type": "object", "properties": {"a": TEXT, "b": TEXT}}
    assert differences(open_before, open_after) == [
        "OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL #/properties/b"
    ]
    assert differences(open_after, open_before) == []


def test_a_property_can_not_be_taken_from_a_closed_object() -> None:
    assert differences(closed(a=TEXT, b=TEXT), closed(a=TEXT)) == [
        "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL #/properties/b"
    ]


def test_what_becomes_required_needs_a_default() -> None:
    before = closed(a=TEXT)
    assert differences(before, {**before, "required": ["a"]}) == [
        "REQUIRED_ATTRIBUTE_ADDED #/required/a"
    ]
    after = closed(a={**TEXT, "default": "x"})
    assert differences(before, {**after, "required": ["a"]}) == []


def test_types_limits_and_enumerations_may_grow_and_not_shrink() -> None:
    assert differences({"type": "integer"}, NUMBER) == []
    assert differences(NUMBER, {"type": "integer"}) == ["TYPE_NARROWED #/"]
    assert differences({**NUMBER, "maximum": 5}, {**NUMBER, "maximum": 4}) == [
        "MAXIMUM_DECREASED #/maximum"
    ]
    assert differences({"enum": ["a"]}, {"enum": ["a", "b"]}) == []
    assert differences({"enum": ["a", "b"]}, {"enum": ["a"]}) == ["ENUM_ARRAY_NARROWED #/enum"]
    assert differences(TEXT, NUMBER) == ["TYPE_CHANGED #/"]
    assert differences(TEXT, {"type": ["null", "string"]}) == []
    assert differences({"oneOf": [TEXT, NUMBER]}, {"oneOf": [TEXT]}) == ["SUM_TYPE_NARROWED #/"]
    assert differences({**NUMBER, "multipleOf": 4}, {**NUMBER, "multipleOf": 2}) == []


def test_schemas_that_contain_themselves_are_compared_in_the_end() -> None:
    def tree(leaf: Any) -> Any:
        node = closed(value=leaf, children={"type": "array", "items": {"$ref": "#/$defs/node"}})
        return {"$ref": "#/$defs/node", "$defs": {"node": node}}

    assert differences(tree(TEXT), tree(TEXT)) == []
    assert differences(tree(TEXT), tree(NUMBER)) == ["TYPE_CHANGED #/properties/value"]


def test_many_definitions_that_refer_to_one_another_stay_cheap() -> None:
    """Without memory this would take longer than the sun has."""
    definitions = {
        f"d{n}": {"anyOf": [closed(x={"$ref": f"#/$defs/d{m}"}) for m in range(8)]}
        for n in range(8)
    }
    schema = {"$ref": "#/$defs/d0", "$defs": definitions}
    assert differences(schema, schema) == []


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nothing"},
        {"$ref": "#/nowhere"},
        {"$ref": "http://example.com/schema.json"},
        {"$ref": "#"},
        [],
        "text",
        {"required": "a"},
    ],
)
def test_what_is_no_schema_is_refused(schema: Any) -> None:
    with pytest.raises(InvalidSchemaError):
        parse("JSON", json.dumps(schema), {}, is_new=True)


def test_no_document_of_a_writer_fails_a_reader_that_was_let_pass() -> None:
    """The judge is a validator of somebody else."""
    random = Random(11)
    let_pass = checked = 0
    for _ in range(3000):
        old = make_schema(random)
        new = change_schema(random, old)
        if differences(old, new):
            continue
        let_pass += 1
        writer, reader = (jsonschema_rs.validator_for(one) for one in (old, new))
        for _ in range(10):
            document = make_document(random, old)
            if writer.is_valid(document):
                checked += 1
                assert reader.is_valid(document), (old, new, document)
    assert let_pass > 500
    assert checked > 2000
