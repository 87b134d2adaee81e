"""From what fastavro reads to Avro's JSON encoding; made once per schema.

A part of a schema whose values JSON can hold as they are costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.serde.avro_json import branch_name, inner_schema, type_of

ToJson = Callable[[Any], Any]


def avro_to_json(schema: Any, named: Mapping[str, Any]) -> ToJson | None:
    """A function from what fastavro reads to the JSON value; None if they are the same."""
    return _Writing(named).function(schema)


class _Writing:
    def __init__(self, named: Mapping[str, Any]) -> None:
        self._named = named
        self._made: dict[str, ToJson | None] = {}

    def function(self, schema: Any) -> ToJson | None:
        schema = inner_schema(schema)
        kind = type_of(schema)
        match kind:
            case "null" | "boolean" | "int" | "long" | "float" | "double" | "string" | "enum":
                return None
            case "bytes" | "fixed":
                return _latin
            case "array":
                return _array(self.function(schema["items"]))
            case "map":
                return _map(self.function(schema["values"]))
            case "union":
                return self._union(schema)
            case "record" | "error":
                return self._record(schema)
        return self._by_name(kind)

    def _by_name(self, name: str) -> ToJson | None:
        if name not in self._made:
            return self.function(self._named[name])
        return self._made[name]

    def _record(self, schema: Any) -> ToJson | None:
        name = schema["name"]
        if name in self._made:
            return self._made[name]
        # While a record is being made it may meet itself; then nobody knows yet what it needs.
        self._made[name] = lambda value: found(value) if (found := self._made[name]) else value
        functions = {field["name"]: self.function(field["type"]) for field in schema["fields"]}
        needed = {field: function for field, function in functions.items() if function}

        def write(value: Any) -> Any:
            for field, function in needed.items():
                value[field] = function(value[field])
            return value

        self._made[name] = write if needed else None
        return self._made[name]

    def _union(self, branches: list[Any]) -> ToJson:
        resolved = [
            self._named.get(b, b) if isinstance(b, str) else inner_schema(b) for b in branches
        ]
        functions = {branch_name(b): self.function(b) for b in resolved}
        tags = [tag for tag in functions if tag != "null"]
        by_type = {
            python: [tag for tag in candidates if tag in functions]
            for python, candidates in _CANDIDATES.items()
        }

        def write(value: Any) -> Any:
            if value is None:
                return None
            if type(value) is tuple:
                tag, value = value
            elif len(tags) == 1:
                tag = tags[0]
            else:
                tag = _tag(by_type[type(value)], value)
            function = functions[tag]
            return {tag: value if function is None else function(value)}

        return write


_CANDIDATES: dict[type, tuple[str, ...]] = {
    bool: ("boolean",),
    int: ("int", "long"),
    float: ("double", "float"),
    str: ("string",),
    bytes: ("bytes",),
    list: ("array",),
    dict: ("map",),
}


def _tag(candidates: list[str], value: Any) -> str:
    if candidates[0] == "int" and len(candidates) == 2 and not -(1 << 31) <= value < 1 << 31:
        return "long"
    return candidates[0]


def _latin(value: bytes) -> str:
    return value.decode("latin-1")


def _array(item: ToJson | None) -> ToJson | None:
    return None if item is None else lambda value: [item(one) for one in value]


def _map(item: ToJson | None) -> ToJson | None:
    return None if item is None else lambda value: {key: item(one) for key, one in value.items()}
