"""Avro: stored texts, what readers cannot take, and the sentences that say so."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.registry.avro.schema import parse_avro
from headrace.registry.errors import InvalidSchemaError


def record(*fields: dict[str, Any], name: str = "R", **more: Any) -> str:
    return json.dumps({"type": "record", "name": name, "fields": list(fields), **more})


def field(name: str, type_: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type_, **more}


def kinds(reader: str, writer: str) -> list[str]:
    first, second = (parse_avro(text, {}, is_new=True) for text in (reader, writer))
    return [f"{one.kind} {one.path}" for one in first.unreadable(second)]


def test_names_are_written_as_avro_writes_them() -> None:
    text = record(
        field("inner", {"type": "enum", "name": "E", "symbols": ["A"]}),
        field("again", "a.b.E"),
        field("other", {"type": "fixed", "name": "c.F", "size": 2}),
        name="a.b.R",
    )
    stored = parse_avro(text, {}, is_new=True).canonical()
    assert stored == (
        '{"type":"record","name":"R","namespace":"a.b","fields":['
        '{"name":"inner","type":{"type":"enum","name":"E","symbols":["A"]}},'
        '{"name":"again","type":"E"},'
        '{"name":"other","type":{"type":"fixed","name":"F","namespace":"c","size":2}}]}'
    )


def test_normalized_texts_do_not_depend_on_the_order_of_properties() -> None:
    one = '{"type":"record","name":"n.R","b":1,"a":2,"fields":[],"doc":"d"}'
    other = '{"a":2,"doc":"d","fields":[],"b":1,"name":"R","namespace":"n","type":"record"}'
    first, second = (parse_avro(text, {}, is_new=True) for text in (one, other))
    assert first.canonical() != second.canonical()
    assert first.normalized() == second.normalized()


def test_referenced_types_are_known_and_not_written_out() -> None:
    user = record(field("name", "string"), name="x.User")
    order = record(field("user", "x.User"), name="x.Order")
    schema = parse_avro(order, {"x.User": user}, is_new=True)
    assert '"type":"User"' in schema.canonical()
    assert '"fields":[{"name":"name","type":"string"}]' in schema.resolved_text()


@pytest.mark.parametrize(
    ("reader", "writer", "expected"),
    [
        (record(field("a", "int")), record(), "READER_FIELD_MISSING_DEFAULT_VALUE /fields/0"),
        (record(field("a", "int")), record(field("a", "string")), "TYPE_MISMATCH /fields/0/type"),
        (record(name="S"), record(), "NAME_MISMATCH /name"),
        (record(field("a", ["null"])), record(field("a", ["null", "int"])),
         "MISSING_UNION_BRANCH /fields/0/type/1"),
        ('{"type":"enum","name":"E","symbols":["A"]}',
         '{"type":"enum","name":"E","symbols":["A","B"]}', "MISSING_ENUM_SYMBOLS /symbols"),
        ('{"type":"fixed","name":"F","size":1}', '{"type":"fixed","name":"F","size":2}',
         "FIXED_SIZE_MISMATCH /size"),
    ],
)  # fmt: skip
def test_what_readers_cannot_take_is_named_with_its_place(
    reader: str, writer: str, expected: str
) -> None:
    assert kinds(reader, writer) == [expected]


def test_readers_promote_numbers_take_aliases_and_ignore_what_they_do_not_know() -> None:
    writer = record(field("a", "int"), field("b", "string"))
    assert kinds(record(field("a", "double"), field("b", "bytes")), writer) == []
    assert kinds(record(field("z", "long", aliases=["a"])), writer) == []
    assert kinds(record(name="S", aliases=["R"]), writer) == []
    assert kinds(record(field("n", "int", default=1)), writer) == []


def test_branches_of_a_union_are_found_by_name_and_by_alias() -> None:
    def empty(name: str, **more: Any) -> dict[str, Any]:
        return {"type": "record", "name": name, "fields": [], **more}

    enum = {"type": "enum", "name": "E", "symbols": ["S"]}
    writer = json.dumps([empty("a.X"), empty("Y"), "int", enum])
    fits = [empty("b.X"), empty("Z", aliases=["Y"]), "long", enum]
    assert kinds(json.dumps(fits), writer) == []
    lacks = [empty("Z", aliases=["X"]), empty("Y"), "int", enum]
    assert kinds(json.dumps(lacks), writer) == ["MISSING_UNION_BRANCH /0"]


def test_unions_of_many_records_that_contain_each_other_are_compared_in_time() -> None:
    def chain(end: str) -> str:
        types = [end, *(f"R{one}" for one in range(1000))]
        records = (record(field("f", each), name=f"R{one}") for one, each in enumerate(types))
        return f"[{','.join(records)}]"

    assert kinds(chain("long"), chain("int")) == []
    assert len(kinds(chain("int"), chain("long"))) == 1000


def test_a_schema_that_contains_itself_reads_itself() -> None:
    tree = record(field("children", {"type": "array", "items": "R"}), field("v", "int"))
    assert kinds(tree, tree) == []
    other = tree.replace('"int"', '"long"')
    assert kinds(tree, other) == ["TYPE_MISMATCH /fields/1/type"]


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"record","name":"R"}',
        '{"type":"record","name":"1","fields":[]}',
        record(field("a", "int"), field("a", "int")),
        record(field("a", "Unknown")),
        record(field("a", "int", default="x")),
        '{"type":"enum","name":"E","symbols":["A","A"]}',
        '{"type":"enum","name":"E","symbols":["A"],"default":"B"}',
        '{"type":"fixed","name":"F","size":-1}',
        '["int",["long"]]',
        '["int","int"]',
        '{"type":"array"}',
        "5",
        '{"type":"int"} x',
    ],
)
def test_what_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchemaError):
        parse_avro(text, {}, is_new=True)


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8)
    | st.sampled_from(["record", "enum", "int", "array", "map", "fixed", "null"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(["type", "name", "fields", "symbols", "items", "values", "size", "x"]),
        inner,
        max_size=5,
    ),
    max_leaves=12,
))  # fmt: skip
def test_any_json_is_a_schema_or_refused(value: Any) -> None:
    try:
        schema = parse_avro(json.dumps(value), {}, is_new=True)
    except InvalidSchemaError:
        return
    again = parse_avro(schema.canonical(), {}, is_new=True)
    assert again.canonical() == schema.canonical()
    assert again.normalized() == schema.normalized()
