"""Our messages in the JSON that Kafka's converters read and write."""

import base64
from typing import Any

from headrace.base.uuids import format_uuid
from headrace.protocol.schema import Field, Struct


def to_json(value: Struct, version: int, *, with_records: bool = True) -> dict[str, Any]:
    """The fields this version has; tagged ones only where they differ from their default.

    Kafka reads record bytes from JSON but writes an empty text instead of them, so what it
    wrote is compared with `with_records=False`.
    """
    result = {}
    for name, field in value.fields.items():
        if version not in field.versions:
            continue
        content = getattr(value, name)
        if field.tag is not None and content == field.default_value:
            continue
        result[camel_case(name)] = _value_to_json(content, field, version, with_records)
    return result


def camel_case(name: str) -> str:
    if name == "enable_2pc":  # Kafka writes a capital after the digit.
        return "enable2Pc"
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _value_to_json(content: Any, field: Field, version: int, with_records: bool) -> Any:
    if content is None:
        return None
    if field.kind == "array":
        assert field.element is not None
        return [_value_to_json(one, field.element, version, with_records) for one in content]
    if field.kind == "struct":
        return to_json(content, version, with_records=with_records)
    if field.kind == "uuid":
        return format_uuid(content)
    if field.kind == "records" and not with_records:
        return ""
    if field.kind in ("bytes", "records"):
        return base64.b64encode(content).decode()
    return content
