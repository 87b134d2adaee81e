"""The columns that a Protobuf message describes, and messages as values of these columns.

As Spark's own functions for Protobuf have them, except that unsigned numbers get a type that holds
them all. Fields that know whether they are set are null when they are not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import MessageToJson

from headrace.serde.errors import SchemaError

Convert = Callable[[Any], Any]

_F = FieldDescriptor
_SCALARS: dict[int, pa.DataType] = {
    _F.TYPE_DOUBLE: pa.float64(),
    _F.TYPE_FLOAT: pa.float32(),
    _F.TYPE_INT64: pa.int64(),
    _F.TYPE_SINT64: pa.int64(),
    _F.TYPE_SFIXED64: pa.int64(),
    _F.TYPE_UINT64: pa.decimal128(20, 0),
    _F.TYPE_FIXED64: pa.decimal128(20, 0),
    _F.TYPE_INT32: pa.int32(),
    _F.TYPE_SINT32: pa.int32(),
    _F.TYPE_SFIXED32: pa.int32(),
    _F.TYPE_UINT32: pa.int64(),
    _F.TYPE_FIXED32: pa.int64(),
    _F.TYPE_BOOL: pa.bool_(),
    _F.TYPE_STRING: pa.string(),
    _F.TYPE_BYTES: pa.binary(),
    _F.TYPE_ENUM: pa.string(),
}
_WRAPPERS = "google.protobuf."
_FREE = ("Struct", "Value", "ListValue")


@dataclass(frozen=True, slots=True)
class ProtobufColumn:
    """A type, and what makes a value of it."""

    arrow: pa.DataType
    convert: Convert


def message_column(message: Descriptor, above: tuple[str, ...] = ()) -> ProtobufColumn:
    """A message as a struct, or as what it stands for if it is one of Google's own."""
    known = _known(message)
    if known is not None:
        return known
    if message.full_name in above:
        raise SchemaError(
            f"The Protobuf schema is recursive: {message.full_name} contains itself,"
            " and columns cannot nest without end."
        )
    fields = [(one.name, _field(one, (*above, message.full_name))) for one in message.fields]
    arrow = pa.struct([(name, one.arrow) for name, one in fields])

    def convert(value: Any) -> dict[str, Any]:
        return {name: one.convert(value) for name, one in fields}

    return ProtobufColumn(arrow, convert)


def _field(field: FieldDescriptor, above: tuple[str, ...]) -> ProtobufColumn:
    """A field, as a function of the message that has it."""
    name = field.name
    kind = field.message_type
    if field.is_repeated and kind is not None and kind.GetOptions().map_entry:
        key, inner = (_value(kind.fields_by_name[part], above) for part in ("key", "value"))
        arrow = pa.map_(key.arrow, pa.field("value", inner.arrow))

        def entries(message: Any) -> Any:
            found = getattr(message, name)
            return [(key.convert(k), inner.convert(found[k])) for k in found]

        return ProtobufColumn(arrow, entries)
    inner = _value(field, above)
    convert = inner.convert
    if field.is_repeated:
        return ProtobufColumn(
            pa.list_(pa.field("element", inner.arrow)),
            lambda message: [convert(one) for one in getattr(message, name)],
        )
    if field.has_presence:
        return ProtobufColumn(
            inner.arrow,
            lambda message: convert(getattr(message, name)) if message.HasField(name) else None,
        )
    return ProtobufColumn(inner.arrow, lambda message: convert(getattr(message, name)))


def _value(field: FieldDescriptor, above: tuple[str, ...]) -> ProtobufColumn:
    """One value of a field."""
    if field.message_type is not None and field.type == _F.TYPE_MESSAGE:
        return message_column(field.message_type, above)
    if field.type not in _SCALARS:
        raise SchemaError(f"The Protobuf field {field.full_name} is a group.")
    if field.enum_type is not None:
        names = {one.number: one.name for one in field.enum_type.values}
        return ProtobufColumn(pa.string(), lambda number: names.get(number, str(number)))
    if field.type in (_F.TYPE_UINT64, _F.TYPE_FIXED64):
        return ProtobufColumn(_SCALARS[field.type], Decimal)
    return ProtobufColumn(_SCALARS[field.type], _same)


def _same(value: Any) -> Any:
    return value


def _known(message: Descriptor) -> ProtobufColumn | None:
    """Google's messages for what Spark has types for."""
    if not message.full_name.startswith(_WRAPPERS):
        return None
    name = message.name
    if name == "Timestamp":
        return ProtobufColumn(pa.timestamp("us", "UTC"), _micros)
    if name == "Duration":
        return ProtobufColumn(pa.duration("us"), _micros)
    if name in _FREE:
        return ProtobufColumn(pa.string(), lambda value: MessageToJson(value, indent=None))
    if name.endswith("Value"):
        inner = _value(message.fields_by_name["value"], ())
        return ProtobufColumn(inner.arrow, lambda value: inner.convert(value.value))
    return None


def _micros(value: Any) -> int:
    return int(value.seconds) * 1_000_000 + int(value.nanos) // 1000
