"""Messages as JSON, as Kafka's own converters write them.

Names in camel case, ids as text, bytes in base64; a tagged field is left out when it has its
default value.
"""

from __future__ import annotations

import base64
from typing import Any

from headrace.base.uuids import format_uuid
from headrace.protocol.schema import Field, Struct


def message_as_json(message: Struct, version: int) -> dict[str, Any]:
    """The fields that this version has."""
    document = {}
    for name, field in message.fields.items():
        if version not in field.versions:
            continue
        value = getattr(message, name)
        if field.tag is not None and _is_left_out(field, value):
            continue
        document[camel_case(name)] = _value(field, value, version)
    return document


def _is_left_out(field: Field, value: Any) -> bool:
    """Kafka writes a tagged struct that is null, whatever its default."""
    if field.struct is not None:
        return bool(value == field.struct())
    return bool(value == field.default_value)


def camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def record_type(cls: type[Struct]) -> str:
    """`FeatureLevelRecord` as Kafka names the type: `FEATURE_LEVEL_RECORD`."""
    out = []
    for position, character in enumerate(cls.__name__):
        if character.isupper() and position:
            out.append("_")
        out.append(character.upper())
    return "".join(out)


def _value(field: Field, value: Any, version: int) -> Any:
    if value is None:
        return None
    if field.kind == "struct":
        return message_as_json(value, version)
    if field.kind == "array" and field.element is not None:
        element = field.element
        return [_value(element, item, version) for item in value]
    if field.kind == "uuid":
        return format_uuid(value)
    if field.kind in ("bytes", "records"):
        return base64.b64encode(value).decode()
    return value
