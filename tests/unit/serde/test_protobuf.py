"""Protobuf: `.proto` files become messages, messages become bytes and JSON."""

from contextlib import suppress
from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct
from hypothesis import given
from hypothesis import strategies as st

from headrace.serde.errors import SchemaError, SerdeError
from headrace.serde.protobuf import ProtobufCodec
from headrace.serde.schema import PROTOBUF, Schema

OTHER = 'syntax = "proto3"; package people; message Person { string name = 1; }'
ORDER = """
syntax = "proto3";   // a comment
package shop;
import "google/protobuf/timestamp.proto";
import "people.proto";
import "confluent/meta.proto";
option java_package = "x.y";
/* a longer
   comment */
message Order {
  option (confluent.message_meta).doc = "orders";
  enum State { NEW = 0; DONE = 1 [deprecated = true]; }
  int64 id = 1;
  optional string note = 2 [json_name = "remark", (confluent.field_meta) = { tags: ["PII"] }];
  repeated Item items = 3;
  map<string, double> prices_by_name = 4;
  oneof payment { string card = 5; bool cash = 6; }
  google.protobuf.Timestamp at = 7;
  State state = 8;
  people.Person person = 9;
  reserved 10 to 12, 20; reserved "old";
  message Item { string sku = 1; Part part = 2; message Part { sint32 x = 0x1; } }
}
message Second { Order.Item.Part part = 1; }
service Shop { rpc Buy (Order) returns (Order) { option deprecated = true; } }
"""
VALUE = {
    "id": "5",
    "remark": "x",
    "items": [{"sku": "s", "part": {"x": -3}}],
    "pricesByName": {"a": 1.5},
    "card": "c",
    "at": "2020-01-01T00:00:00Z",
    "state": "DONE",
    "person": {"name": "Ann"},
}


def order(message: str | None = None) -> ProtobufCodec:
    references = {"people.proto": Schema(OTHER, PROTOBUF)}
    return ProtobufCodec(Schema(ORDER, PROTOBUF), references, message)


def codec(text: str) -> ProtobufCodec:
    return ProtobufCodec(Schema(text, PROTOBUF), {})


def test_the_json_form_comes_back() -> None:
    data = order().encode_json(VALUE)
    assert order().decode_json(data) == VALUE
    assert order().record_name == "shop.Order"


def test_fields_that_were_not_set_show_their_defaults_but_optional_ones_do_not() -> None:
    shown = order().decode_json(order().encode_json({}))
    assert shown == {"id": "0", "items": [], "pricesByName": {}, "state": "NEW"}


def test_a_nested_message_is_written_with_its_path_and_found_by_it() -> None:
    part = order("shop.Order.Item.Part")
    data = part.encode_json({"x": 4})
    assert data == b"\x06\x00\x00\x00\x08\x08"
    assert order().decode_json(data) == {"x": 4}
    message = order().decode(data)
    assert message.DESCRIPTOR.full_name == "shop.Order.Item.Part"
    assert order().encode(message) == data


def test_maps_do_not_move_the_messages_that_are_declared() -> None:
    """Java's serializer counts what the text declares, Python's all that a descriptor has."""
    text = "message A { map<string, B> bs = 1; message B {} map<int32, int32> n = 2; message C {} }"
    for name, path in (("B", b"\x04\x00\x00"), ("C", b"\x04\x00\x02")):
        assert ProtobufCodec(Schema(text, PROTOBUF), {}, f"A.{name}").encode_json({}) == path


def test_an_entry_of_a_map_that_is_declared_is_counted_and_is_one() -> None:
    entry = "message BsEntry { option map_entry = true; string key = 1; int32 value = 2; }"
    text = f'syntax = "proto3"; message A {{ repeated BsEntry bs = 1; {entry} message C {{}} }}'
    assert codec(text).decode_json(codec(text).encode_json({"bs": {"x": 1}})) == {"bs": {"x": 1}}
    assert ProtobufCodec(Schema(text, PROTOBUF), {}, "A.C").encode_json({}) == b"\x04\x00\x02"


def test_options_of_messages_are_no_fields() -> None:
    text = 'syntax = "proto3"; message A { option deprecated = true; int32 fooBar = 1; }'
    assert codec(text).encode_json({"fooBar": 1}) == b"\x00\x08\x01"


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({"id": "x"}, "id field"),
        ({"nope": 1}, 'no field named "nope"'),
        ({"items": [{"part": {"x": "q"}}]}, "items field.*part field.*x field"),
        ({"state": "LOST"}, "state"),
        (3, "it is 3, not a message shop.Order"),
    ],
)
def test_a_value_that_does_not_fit_is_told_with_its_field(value: object, sentence: str) -> None:
    with pytest.raises(SerdeError, match=sentence):
        order().encode_json(value)


def test_a_message_of_another_schema_is_refused() -> None:
    with pytest.raises(SerdeError, match="no Protobuf message google"):
        order().encode(Struct())


def test_a_path_that_leads_nowhere_is_refused() -> None:
    with pytest.raises(SerdeError, match="at the path 9"):
        order().decode(b"\x02\x12", 0)


def test_required_fields_and_defaults_of_proto2_are_kept() -> None:
    made = codec('message A { required int32 a = 1; optional string s = 2 [default = "x\\ty"]; }')
    with pytest.raises(SerdeError, match="missing required fields: a"):
        made.encode_json({})
    message: Any = made.decode(made.encode_json({"a": 1}))
    assert message.s == "x\ty"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("message A { B b = 1; }", "line 1|resolve"),
        ("message A { optional int32 a = 1; optional int32 b = 1; }", "duplicate"),
        ("mess", "'mess' has no meaning here"),
        ("message A {", "expected a name"),
        ('import "nowhere.proto"; message A {}', "imports nowhere.proto"),
        ('syntax = "proto3"; enum E { A = 0; }', "no message"),
        ('syntax = "proto9"; message A {}', "syntax proto9 is unknown"),
        ("message A { optional int32 a = 0; }", "has the number 0"),
        ("message A {\n\n optional int32 a = b; }", "line 3"),
        ("message A {" * 100, "nested deeper"),
        ("\x00", "line 1"),
    ],
)
def test_a_schema_that_is_none_is_refused_with_its_place(text: str, sentence: str) -> None:
    with pytest.raises(SchemaError, match=sentence):
        codec(text)


@given(st.text("message{}[]=;.,<>\"'/*\\ \n01aoneptirequidst32", max_size=120))
def test_any_text_is_a_schema_or_one_sentence(text: str) -> None:
    with suppress(SchemaError):
        codec(text)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_with_one_sentence(data: bytes) -> None:
    with suppress(SerdeError):
        order().decode_json(data, 0)
