"""The columns that a JSON Schema describes, and values of JSON as values of these columns.

Objects with properties are structs, objects whose other properties have a schema are maps; what has
no one type (no schema at all, several types, a schema that contains itself) is text: its JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
import pyarrow as pa

from headrace.serde.errors import SerdeError

_LONG_MAX = 2**63 - 1

Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class JsonColumn:
    """A type, and what makes a value of it."""

    arrow: pa.DataType
    convert: Convert


class JsonTypes:
    """The types of one schema and of those it refers to by name."""

    def __init__(self, document: Any, referenced: Mapping[str, Any]) -> None:
        self._document = document
        self._referenced = referenced
        self._open: list[int] = []

    def root(self) -> JsonColumn:
        return self._column(self._document, self._document, "")

    def _column(self, node: Any, document: Any, path: str) -> JsonColumn:
        if not isinstance(node, dict) or id(node) in self._open:
            return _TEXT
        self._open.append(id(node))
        try:
            return self._of(node, document, path)
        finally:
            self._open.pop()

    def _of(self, node: dict[str, Any], document: Any, path: str) -> JsonColumn:
        if "$ref" in node:
            target, document = self._find(str(node["$ref"]), document)
            return self._column(target, document, path)
        for word in ("anyOf", "oneOf", "allOf"):
            if word in node and isinstance(node[word], list):
                some = [one for one in node[word] if one != {"type": "null"}]
                return self._column(some[0], document, path) if len(some) == 1 else _TEXT
        kind = _kind(node)
        if kind == "object":
            return self._object(node, document, path)
        if kind == "array" and isinstance(node.get("items"), dict):
            inner = self._column(node["items"], document, f"{path}[]")
            return JsonColumn(pa.list_(pa.field("element", inner.arrow)), _items(inner, path))
        if kind in _SCALARS:
            arrow, python = _SCALARS[kind]
            return JsonColumn(arrow, _scalar(kind, python, path))
        return _TEXT

    def _object(self, node: dict[str, Any], document: Any, path: str) -> JsonColumn:
        properties = node.get("properties")
        if isinstance(properties, dict) and properties:
            fields = {
                name: self._column(one, document, f"{path}.{name}")
                for name, one in properties.items()
            }
            arrow = pa.struct([(name, one.arrow) for name, one in fields.items()])
            return JsonColumn(arrow, _fields(fields, path))
        if isinstance(node.get("additionalProperties"), dict):
            inner = self._column(node["additionalProperties"], document, f"{path}[]")
            return JsonColumn(
                pa.map_(pa.string(), pa.field("value", inner.arrow)), _entries(inner, path)
            )
        return _TEXT

    def _find(self, reference: str, document: Any) -> tuple[Any, Any]:
        name, _, pointer = reference.partition("#")
        if name:
            document = self._referenced.get(name, self._referenced.get(name.rpartition("/")[2]))
        target = document
        for part in pointer.strip("/").split("/") if pointer.strip("/") else ():
            key = part.replace("~1", "/").replace("~0", "~")
            target = target.get(key) if isinstance(target, dict) else None
        return target, document


def _kind(node: dict[str, Any]) -> str | None:
    kind = node.get("type")
    if isinstance(kind, list):
        real = [one for one in kind if one != "null"]
        return str(real[0]) if len(real) == 1 else None
    if kind is None and ("properties" in node or "additionalProperties" in node):
        return "object"
    if kind is None and isinstance(node.get("enum"), list):
        symbols = [one for one in node["enum"] if one is not None]
        return "string" if symbols and all(isinstance(one, str) for one in symbols) else None
    return str(kind) if kind is not None else None


# ---------------------------------------------------------------- values


def _text(value: Any) -> Any:
    return None if value is None else orjson.dumps(value).decode()


_TEXT = JsonColumn(pa.string(), _text)
_SCALARS: dict[str, tuple[pa.DataType, type | tuple[type, ...]]] = {
    "string": (pa.string(), str),
    "boolean": (pa.bool_(), bool),
    "integer": (pa.int64(), int),
    "number": (pa.float64(), (int, float)),
}


def _misfit(value: Any, kind: str, path: str) -> SerdeError:
    where = f"field {path.lstrip('.')} holds" if path else "it is"
    shown = orjson.dumps(value).decode()
    shown = shown if len(shown) <= 60 else f"{shown[:60]}…"
    return SerdeError(f"The data does not fit the reader's schema: {where} {shown}, not {kind}.")


def _scalar(kind: str, python: type | tuple[type, ...], path: str) -> Convert:
    def convert(value: Any) -> Any:
        if value is None:
            return None
        number: Any = value
        # JSON writes 5.0 and 5 for the same integer; true is no number in it.
        if kind == "integer" and isinstance(value, float) and value.is_integer():
            value = number = int(value)
        if not isinstance(value, python) or (isinstance(value, bool) and kind != "boolean"):
            raise _misfit(value, kind, path)
        if kind == "integer" and abs(number) > _LONG_MAX:
            raise _misfit(value, "an integer of 64 bits", path)
        return float(number) if kind == "number" else value

    return convert


def _fields(fields: Mapping[str, JsonColumn], path: str) -> Convert:
    def convert(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise _misfit(value, "an object", path)
        return {name: one.convert(value.get(name)) for name, one in fields.items()}

    return convert


def _entries(inner: JsonColumn, path: str) -> Convert:
    def convert(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise _misfit(value, "an object", path)
        return [(key, inner.convert(one)) for key, one in value.items()]

    return convert


def _items(inner: JsonColumn, path: str) -> Convert:
    def convert(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, list):
            raise _misfit(value, "an array", path)
        return [inner.convert(one) for one in value]

    return convert
