"""Avro schemas from their JSON, under the rules of Avro's own parser."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from headrace.registry.avro.defaults import fits
from headrace.registry.avro.types import MISSING, NAMED, PRIMITIVES, AvroField, AvroType
from headrace.registry.core.compact_json import load
from headrace.registry.errors import InvalidSchemaError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_DEPTH_MAX = 200
_CONSTANTS = ("true", "false")
_ORDERS = ("ascending", "descending", "ignore")
_FIELD_WORDS = frozenset(("name", "type", "doc", "default", "order", "aliases"))


def load_json(text: str) -> Any:
    """The JSON of a schema; a bare word is taken as the name of a type."""
    bare = text.strip()
    return bare if _NAME.match(bare) and bare not in _CONSTANTS else load(text)


class AvroParser:
    """Parses texts one after the other; names of earlier ones are known to later ones."""

    def __init__(self, *, check_defaults: bool = False) -> None:
        self.names: dict[str, AvroType] = {}
        self._check_defaults = check_defaults
        self._depth = 0

    def parse(self, text: str) -> AvroType:
        self._depth = 0
        return self._type(load_json(text), "")

    # ---------------------------------------------------------------- types

    def _type(self, node: Any, namespace: str) -> AvroType:
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise InvalidSchemaError("The schema is nested too deeply")
        try:
            if isinstance(node, str):
                return self._by_name(node, namespace)
            if isinstance(node, dict):
                return self._complex(node, namespace)
            if isinstance(node, list):
                return self._union(node, namespace)
        finally:
            self._depth -= 1
        raise InvalidSchemaError(f"Type not yet supported: {json.dumps(node)[:200]}")

    def _by_name(self, name: str, namespace: str) -> AvroType:
        if name in PRIMITIVES:
            return AvroType(name)
        found = self.names.get(_full_name(name, namespace))
        if found is None and "." not in name:
            found = self.names.get(name)
        if found is None:
            raise InvalidSchemaError(f'Undefined name: "{name}"')
        return found

    def _complex(self, node: dict[str, Any], namespace: str) -> AvroType:
        kind = node.get("type")
        if kind is None:
            raise InvalidSchemaError(f"No type: {json.dumps(node)[:200]}")
        if not isinstance(kind, str):
            # {"type": {...}}: a type in brackets; what else is said of it is said of nothing.
            return self._type(kind, namespace)
        if kind in PRIMITIVES:
            return AvroType(kind, properties=_properties(node, _PRIMITIVE_WORDS))
        if kind in ("record", "error"):
            return self._record(node, namespace)
        if kind == "enum":
            return self._enum(node, namespace)
        if kind == "fixed":
            return self._fixed(node, namespace)
        if kind in ("array", "map"):
            word = "items" if kind == "array" else "values"
            if word not in node:
                raise InvalidSchemaError(f"{kind.capitalize()} has no {word} type")
            element = self._type(node[word], namespace)
            properties = _properties(node, ("type", word))
            return AvroType(kind, element=element, properties=properties)
        return self._by_name(kind, namespace)

    def _union(self, nodes: list[Any], namespace: str) -> AvroType:
        branches = [self._type(node, namespace) for node in nodes]
        seen: set[str] = set()
        for branch in branches:
            if branch.kind == "union":
                raise InvalidSchemaError("Nested union: a union cannot contain a union")
            label = branch.name or branch.kind
            if label in seen:
                raise InvalidSchemaError(f"Duplicate in union: {label}")
            seen.add(label)
        return AvroType("union", branches=branches)

    # ---------------------------------------------------------------- named types

    def _named(self, kind: str, node: dict[str, Any], namespace: str) -> AvroType:
        name = node.get("name")
        if not isinstance(name, str) or not name:
            raise InvalidSchemaError(f"No name in schema: {json.dumps(node)[:200]}")
        space = node.get("namespace", namespace)
        if not isinstance(space, str):
            raise InvalidSchemaError(f"The namespace of {name} is no text")
        full = _full_name(name, space)
        for part in full.split("."):
            if not _NAME.match(part):
                raise InvalidSchemaError(f"Illegal character in: {full}")
        if full in self.names or full in PRIMITIVES:
            raise InvalidSchemaError(f"Can't redefine: {full}")
        doc = node.get("doc")
        type_ = AvroType(kind, name=full, doc=doc if isinstance(doc, str) else None)
        type_.aliases = [
            _full_name(alias, type_.namespace) for alias in _texts(node, "aliases", full)
        ]
        self.names[full] = type_
        return type_

    def _record(self, node: dict[str, Any], namespace: str) -> AvroType:
        type_ = self._named("record", node, namespace)
        type_.is_error = node["type"] == "error"
        fields = node.get("fields")
        if not isinstance(fields, list):
            raise InvalidSchemaError(f"Record has no fields: {type_.name}")
        seen: set[str] = set()
        for one in fields:
            field = self._field(one, type_)
            if field.name in seen:
                raise InvalidSchemaError(f"Duplicate field {field.name} in record {type_.name}")
            seen.add(field.name)
            type_.fields.append(field)
        type_.properties = _properties(node, _NAMED_WORDS["record"])
        return type_

    def _field(self, node: Any, record: AvroType) -> AvroField:
        if not isinstance(node, dict) or not isinstance(node.get("name"), str):
            raise InvalidSchemaError(f"No field name in record {record.name}")
        name = node["name"]
        if not _NAME.match(name):
            raise InvalidSchemaError(f"Illegal character in: {name}")
        if "type" not in node:
            raise InvalidSchemaError(f"No field type: {name} in record {record.name}")
        order = str(node.get("order", "ascending")).lower()
        if order not in _ORDERS:
            raise InvalidSchemaError(f"Unknown order of field {name}: {order}")
        type_ = self._type(node["type"], record.namespace)
        default = node.get("default", MISSING)
        if self._check_defaults and default is not MISSING and not fits(type_, default):
            raise InvalidSchemaError(
                f"Invalid default for field {name}: {json.dumps(default)[:200]} is no {type_.kind}"
            )
        doc = node.get("doc")
        return AvroField(
            name,
            type_,
            doc=doc if isinstance(doc, str) else None,
            default=default,
            order=order,
            aliases=_texts(node, "aliases", name),
            properties=_properties(node, _FIELD_WORDS),
        )

    def _enum(self, node: dict[str, Any], namespace: str) -> AvroType:
        type_ = self._named("enum", node, namespace)
        if not isinstance(node.get("symbols"), list):
            raise InvalidSchemaError(f"Enum has no symbols: {type_.name}")
        type_.symbols = _texts(node, "symbols", type_.name)
        seen: set[str] = set()
        for symbol in type_.symbols:
            if not _NAME.match(symbol):
                raise InvalidSchemaError(f"Illegal character in: {symbol}")
            if symbol in seen:
                raise InvalidSchemaError(f"Duplicate enum symbol: {symbol}")
            seen.add(symbol)
        default = node.get("default")
        if default is not None:
            if default not in seen:
                raise InvalidSchemaError(
                    f"The Enum Default: {default} is not in the enum symbol set"
                )
            type_.symbol_default = default
        type_.properties = _properties(node, _NAMED_WORDS["enum"])
        return type_

    def _fixed(self, node: dict[str, Any], namespace: str) -> AvroType:
        type_ = self._named("fixed", node, namespace)
        size = node.get("size")
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise InvalidSchemaError(f"Invalid or no size: {type_.name}")
        type_.size = size
        type_.properties = _properties(node, _NAMED_WORDS["fixed"])
        return type_


_COMMON_WORDS = ("type", "name", "namespace", "doc", "aliases")
_PRIMITIVE_WORDS = ("type",)
_NAMED_WORDS = {
    "record": (*_COMMON_WORDS, "fields"),
    "enum": (*_COMMON_WORDS, "symbols", "default"),
    "fixed": (*_COMMON_WORDS, "size"),
}
assert set(_NAMED_WORDS) == set(NAMED)  # noqa: S101 - a table of this module


def _full_name(name: str, namespace: str) -> str:
    if "." in name:
        return name.removeprefix(".")
    return f"{namespace}.{name}" if namespace else name


def _texts(node: Mapping[str, Any], word: str, owner: str) -> list[str]:
    values = node.get(word)
    if values is None:
        return []
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise InvalidSchemaError(f"The {word} of {owner} are no list of texts")
    return list(values)


def _properties(node: Mapping[str, Any], words: object) -> dict[str, Any]:
    return {name: value for name, value in node.items() if name not in words}  # type: ignore[operator]
