"""Whether a default value is one of its type."""

from __future__ import annotations

from typing import Any

from headrace.registry.avro.types import MISSING, AvroType

_INT, _LONG = 1 << 31, 1 << 63


def fits(type_: AvroType, value: Any) -> bool:
    """As Avro's parser checks it; a union's default may be of any of its branches."""
    match type_.kind:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "int":
            return _is_whole(value) and -_INT <= value < _INT
        case "long":
            return _is_whole(value) and -_LONG <= value < _LONG
        case "float" | "double":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "string" | "bytes" | "fixed":
            return isinstance(value, str)
        case "enum":
            return isinstance(value, str) and value in type_.symbols
        case "array":
            return isinstance(value, list) and all(fits(type_.inner, one) for one in value)
        case "map":
            return isinstance(value, dict) and all(fits(type_.inner, v) for v in value.values())
        case "union":
            return any(fits(branch, value) for branch in type_.branches)
    return isinstance(value, dict) and all(
        field.default is not MISSING
        if field.name not in value
        else fits(field.type, value[field.name])
        for field in type_.fields
    )


def _is_whole(value: Any) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)
