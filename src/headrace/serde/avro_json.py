"""Avro's JSON encoding: a union's value is `{"branch": value}`, bytes are Latin-1 text.

What reading and writing it share; `avro_json_reading` and `avro_json_writing` do the work.
"""

from __future__ import annotations

from typing import Any


def type_of(schema: Any) -> str:
    if isinstance(schema, list):
        return "union"
    kind = schema["type"] if isinstance(schema, dict) else schema
    return type_of(kind) if isinstance(kind, dict | list) else str(kind)


def branch_name(schema: Any) -> str:
    """What tags the values of a branch: the full name, or the type."""
    return str(schema["name"]) if isinstance(schema, dict) and "name" in schema else type_of(schema)


def inner_schema(schema: Any) -> Any:
    """`{"type": {"type": ...}}` is allowed and means what is inside."""
    while isinstance(schema, dict) and isinstance(schema["type"], dict | list):
        schema = schema["type"]
    return schema
