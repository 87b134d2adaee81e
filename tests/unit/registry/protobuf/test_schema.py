"""Protobuf: stored texts, descriptors, and what a reader cannot take."""

import base64

import pytest
from google.protobuf import descriptor_pb2 as pb

from headrace.registry.core.languages import formatted, parse
from headrace.registry.errors import InvalidSchemaError
from headrace.registry.protobuf.schema import parse_protobuf

FILE = """
syntax = "proto3";  // a comment
package example;
import "google/protobuf/timestamp.proto";
option java_package = "com.example";
/* another
   comment */
message Person {
  string name = 1 [deprecated = true, json_name = "full_name"];
  int32 age = 2; .google.protobuf.Timestamp born = 3;
  map<string, Pet> pets = 4;
  oneof contact { string mail = 5; string phone = 6; }
  optional bool active = 7;
  reserved 8, 10 to 12; reserved "old";
  message Pet { repeated Kind kinds = 1; }
  enum Kind { option allow_alias = true; NONE = 0; CAT = 1; TOM = 1; }
}
service People { rpc Find (Person) returns (stream Person) { option deprecated = true; } }
"""


def body(fields: str, syntax: str = "proto3") -> str:
    return f'syntax = "{syntax}"; message M {{ {fields} }}'


def kinds(old: str, new: str) -> list[str]:
    reader, writer = (parse("PROTOBUF", text, {}) for text in (new, old))
    return [f"{one.kind} {one.path}" for one in reader.unreadable(writer)]


def test_layout_and_comments_do_not_matter_and_nothing_else_is_lost() -> None:
    stored = parse("PROTOBUF", FILE, {}).canonical()
    assert parse("PROTOBUF", FILE.replace("\n", "  \n\n"), {}).canonical() == stored
    assert parse("PROTOBUF", stored, {}).canonical() == stored
    for part in (
        'option java_package = "com.example";',
        "service People {",
        "reserved 8, 10 to 12",
    ):
        assert part in stored
    assert "comment" not in stored


def test_the_order_of_fields_does_not_matter_once_normalized() -> None:
    one, other = body("int32 a = 1; string b = 2;"), body("string b = 2; int32 a = 1;")
    first, second = parse("PROTOBUF", one, {}), parse("PROTOBUF", other, {})
    assert first.canonical() != second.canonical()
    assert first.normalized() == second.normalized()


def test_a_descriptor_comes_back_as_the_descriptor_it_was() -> None:
    descriptor = formatted(parse("PROTOBUF", FILE, {}), "serialized")
    again = formatted(parse("PROTOBUF", descriptor, {}), "serialized")
    first, second = (
        pb.FileDescriptorProto.FromString(base64.b64decode(one)) for one in (descriptor, again)
    )
    assert first.message_type == second.message_type
    assert first.dependency == second.dependency


def test_messages_of_a_descriptor_keep_their_places_behind_maps() -> None:
    file = pb.FileDescriptorProto(name="a.proto", syntax="proto3")
    message = file.message_type.add(name="A")
    entry = message.nested_type.add(name="MEntry")
    entry.options.map_entry = True
    one, text = pb.FieldDescriptorProto.LABEL_OPTIONAL, pb.FieldDescriptorProto.TYPE_STRING
    for number, name in enumerate(("key", "value"), 1):
        entry.field.add(name=name, number=number, type=text, label=one)
    message.nested_type.add(name="B")
    many = pb.FieldDescriptorProto.LABEL_REPEATED
    message.field.add(name="m", number=1, type=11, type_name=".A.MEntry", label=many)
    given = base64.b64encode(file.SerializeToString()).decode()
    stored = parse_protobuf(given, {}).canonical()
    again = pb.FileDescriptorProto.FromString(
        base64.b64decode(parse_protobuf(stored, {}).serialized())
    )
    assert [one.name for one in again.message_type[0].nested_type] == ["MEntry", "B"]
    assert again.message_type[0].nested_type[0].options.map_entry
    as_map = 'syntax = "proto3"; message A { map<string, string> m = 1; message B {} }'
    assert parse_protobuf(as_map, {}).unreadable(parse_protobuf(given, {})) == []


def test_imports_come_from_references_and_may_not_lead_back() -> None:
    importing = 'syntax = "proto3"; import "a.proto"; message M { A a = 1; }'
    parse("PROTOBUF", importing, {"a.proto": 'syntax = "proto3"; message A {}'})
    with pytest.raises(InvalidSchemaError, match=r"a\.proto"):
        parse("PROTOBUF", importing, {})
    circle = {
        "a.proto": 'syntax = "proto3"; import "b.proto"; message A {}',
        "b.proto": 'syntax = "proto3"; import "a.proto"; message B {}',
    }
    with pytest.raises(InvalidSchemaError, match="itself"):
        parse("PROTOBUF", importing, circle)


def test_fields_may_come_go_and_change_their_names() -> None:
    assert kinds(body("int32 a = 1;"), body("int64 z = 1; string b = 2;")) == []
    assert kinds(body("int32 a = 1; string b = 2;"), body("int32 a = 1;")) == []


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("int32 a = 1;", "string a = 1;", "FIELD_SCALAR_KIND_CHANGED #/M/1"),
        ("int32 a = 1;", "sint32 a = 1;", "FIELD_SCALAR_KIND_CHANGED #/M/1"),
        ("int32 a = 1;", "repeated int32 a = 1;", "FIELD_NUMERIC_LABEL_CHANGED #/M/1"),
        ("int32 a = 1;", "M a = 1;", "FIELD_KIND_CHANGED #/M/1"),
        ("map<string, int32> a = 1;", "map<string, M> a = 1;", "FIELD_KIND_CHANGED #/M/1"),
        ("message N {} N a = 1;", "message N {} M a = 1;", "FIELD_NAMED_TYPE_CHANGED #/M/1"),
        ("message N {}", "", "MESSAGE_REMOVED #/M/N"),
        ("oneof o { int32 a = 1; int32 b = 2; }", "oneof o { int32 a = 1; }",
         "ONEOF_FIELD_REMOVED #/M/o/2"),
        ("int32 a = 1; int32 b = 2;", "oneof o { int32 a = 1; int32 b = 2; }",
         "MULTIPLE_FIELDS_MOVED_TO_ONEOF #/M/o"),
    ],
)  # fmt: skip
def test_what_readers_cannot_take_is_named_with_its_place(old: str, new: str, kind: str) -> None:
    assert kinds(body(old), body(new)) == [kind]


def test_required_fields_can_neither_come_nor_go() -> None:
    old, new = body("", "proto2"), body("required int32 a = 1;", "proto2")
    assert kinds(old, new) == ["REQUIRED_FIELD_ADDED #/M/1"]
    assert kinds(new, old) == ["REQUIRED_FIELD_REMOVED #/M/1"]


def test_messages_of_imported_files_are_compared_too() -> None:
    text = 'syntax = "proto3"; import "a.proto"; message M { A a = 1; }'
    old, new = (
        parse("PROTOBUF", text, {"a.proto": f'syntax = "proto3"; message A {{ {field} }}'})
        for field in ("int32 x = 1;", "string x = 1;")
    )
    assert [one.kind for one in new.unreadable(old)] == [
        "FIELD_SCALAR_KIND_CHANGED",
        "FIELD_NAMED_TYPE_CHANGED",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "message {",
        'syntax = "proto9";',
        "message M { int32 a = 1; int32 b = 1; }",
        "message M { Unknown a = 1; }",
        "message M { int32 a = 0; }",
        "}",
        "AAAA",
        "message M {" * 100,
    ],
)
def test_what_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchemaError):
        parse("PROTOBUF", text, {})
