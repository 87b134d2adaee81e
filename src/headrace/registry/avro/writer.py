"""Avro schemas as text: as Avro itself writes them, and normalized.

The first is what is stored. It equals what Avro's Java library prints, so that a registry of
either make finds a schema again that the other one stored.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from headrace.registry.avro.types import MISSING, NAMED, AvroField, AvroType
from headrace.registry.core.compact_json import dump, ordered


def canonical(type_: AvroType, known: Collection[str] = ()) -> str:
    """One line of JSON; a named type is written out once, and not at all if it is `known`."""
    return dump(_Canonical(set(known)).write(type_, ""))


def normalized(type_: AvroType, known: Collection[str] = ()) -> str:
    """With full names, and properties in alphabetical order."""
    return dump(_Normalized(set(known)).write(type_))


class _Canonical:
    def __init__(self, written: set[str]) -> None:
        self._written = written

    def write(self, type_: AvroType, namespace: str) -> Any:
        if type_.kind in NAMED:
            return self._named(type_, namespace)
        if type_.kind == "union":
            return [self.write(branch, namespace) for branch in type_.branches]
        if type_.kind == "array":
            items = self.write(type_.inner, namespace)
            return {"type": "array", "items": items, **type_.properties}
        if type_.kind == "map":
            values = self.write(type_.inner, namespace)
            return {"type": "map", "values": values, **type_.properties}
        if type_.properties:
            return {"type": type_.kind, **type_.properties}
        return type_.kind

    def _named(self, type_: AvroType, namespace: str) -> Any:
        own = type_.namespace
        if type_.name in self._written:
            return type_.simple_name if own == namespace else type_.name
        self._written.add(type_.name)
        kind = "error" if type_.is_error else type_.kind
        node: dict[str, Any] = {"type": kind, "name": type_.simple_name}
        if own != namespace:
            node["namespace"] = own
        if type_.doc is not None:
            node["doc"] = type_.doc
        if type_.kind == "record":
            node["fields"] = [self._field(field, own) for field in type_.fields]
        elif type_.kind == "enum":
            node["symbols"] = type_.symbols
            if type_.symbol_default is not None:
                node["default"] = type_.symbol_default
        else:
            node["size"] = type_.size
        node |= type_.properties
        if type_.aliases:
            node["aliases"] = [_relative(alias, own) for alias in dict.fromkeys(type_.aliases)]
        return node

    def _field(self, field: AvroField, namespace: str) -> dict[str, Any]:
        node: dict[str, Any] = {"name": field.name, "type": self.write(field.type, namespace)}
        if field.doc is not None:
            node["doc"] = field.doc
        if field.default is not MISSING:
            node["default"] = field.default
        if field.order != "ascending":
            node["order"] = field.order
        if field.aliases:
            node["aliases"] = list(dict.fromkeys(field.aliases))
        return node | field.properties


class _Normalized:
    def __init__(self, written: set[str]) -> None:
        self._written = written

    def write(self, type_: AvroType) -> Any:
        if type_.kind in NAMED:
            return self._named(type_)
        if type_.kind == "union":
            return [self.write(branch) for branch in type_.branches]
        properties = _ordered(type_.properties)
        if type_.kind == "array":
            return {"type": "array", "items": self.write(type_.inner), **properties}
        if type_.kind == "map":
            return {"type": "map", "values": self.write(type_.inner), **properties}
        return {"type": type_.kind, **properties} if properties else type_.kind

    def _named(self, type_: AvroType) -> Any:
        if type_.name in self._written:
            return type_.name
        self._written.add(type_.name)
        node: dict[str, Any] = {"name": type_.name, "type": type_.kind}
        if type_.kind == "record":
            node["fields"] = [self._field(field) for field in type_.fields]
        elif type_.kind == "enum":
            node["symbols"] = type_.symbols
        else:
            node["size"] = type_.size
        properties = _ordered(type_.properties)
        for word in ("logicalType", "precision", "scale"):
            if word in properties:
                node[word] = properties.pop(word)
        if type_.doc:
            node["doc"] = type_.doc
        if type_.aliases:
            node["aliases"] = sorted(set(type_.aliases))
        if type_.symbol_default is not None:
            node["default"] = type_.symbol_default
        return node | properties

    def _field(self, field: AvroField) -> dict[str, Any]:
        node: dict[str, Any] = {"name": field.name, "type": self.write(field.type)}
        node["order"] = field.order.upper()
        if field.doc is not None:
            node["doc"] = field.doc
        if field.aliases:
            node["aliases"] = sorted(set(field.aliases))
        if field.default is not MISSING:
            node["default"] = ordered(field.default)
        return node | _ordered(field.properties)


def _relative(alias: str, namespace: str) -> str:
    space, _, name = alias.rpartition(".")
    return name if space == namespace else alias


def _ordered(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The logical type first, as other registries write it, then by name."""
    first = [name for name in ("logicalType",) if name in properties]
    if properties.get("logicalType") == "decimal":
        if properties.get("scale") == 0:
            properties = {name: value for name, value in properties.items() if name != "scale"}
        first += [name for name in ("precision", "scale") if name in properties]
    names = [*first, *sorted(set(properties) - set(first))]
    return {name: ordered(properties[name]) for name in names}
