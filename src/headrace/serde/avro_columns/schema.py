"""Avro schemas as plain nodes, with names resolved and logical types told apart.

fastavro checks the text; what it gives still refers to named types by name. Here a reference is the
node itself, so that a recursive schema is a circle of nodes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fastavro import parse_schema

from headrace.serde.errors import SchemaError

_NAMED = ("record", "error", "enum", "fixed")


class _Missing:
    """The default of a field that has none; None is a default of its own."""


MISSING = _Missing()


@dataclass(slots=True, eq=False)
class Field:
    """A field of a record."""

    name: str
    type: Node
    default: Any = MISSING
    aliases: tuple[str, ...] = ()

    @property
    def has_default(self) -> bool:
        return self.default is not MISSING


@dataclass(slots=True, eq=False)
class Node:
    """One type; which of the attributes mean something depends on `kind`."""

    kind: str
    #: The full name of a named type, and the other names a reader knows it by.
    name: str = ""
    aliases: tuple[str, ...] = ()
    logical: str = ""
    precision: int = 0
    scale: int = 0
    fields: list[Field] = field(default_factory=list)
    symbols: tuple[str, ...] = ()
    #: Of an enum: what stands for a symbol that the reader does not know.
    symbol_default: str | None = None
    size: int = 0
    #: Of an array its items, of a map its values.
    element: Node | None = None
    branches: list[Node] = field(default_factory=list)

    @property
    def inner(self) -> Node:
        if self.element is None:
            raise TypeError(f"{self.kind} has no elements")
        return self.element

    def __str__(self) -> str:
        return f"{self.kind} {self.name}" if self.name else self.kind


def parse_nodes(text: str, referenced: Iterable[str] = ()) -> Node:
    """The schema in `text`, after the ones that it refers to."""
    known: dict[str, Any] = {}
    try:
        for other in referenced:
            parse_schema(_load(other), named_schemas=known)
        return _Builder(known).node(parse_schema(_load(text), named_schemas=known))
    except SchemaError:
        raise
    except RecursionError as error:
        raise SchemaError("The Avro schema is nested too deeply.") from error
    except Exception as error:
        reason = str(error).rstrip(".") or type(error).__name__
        raise SchemaError(f"The Avro schema is invalid: {reason}.") from error


def _load(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        # A bare name is a schema too, with or without quotes.
        if text.strip().isidentifier():
            return text.strip()
        raise SchemaError(f"The Avro schema is no JSON: {error}.") from error


class _Builder:
    def __init__(self, known: dict[str, Any]) -> None:
        self._known = known
        self._made: dict[str, Node] = {}

    def node(self, schema: Any) -> Node:
        if isinstance(schema, list):
            return Node("union", branches=[self.node(branch) for branch in schema])
        if isinstance(schema, str):
            if schema in self._made:
                return self._made[schema]
            return self.node(self._known[schema]) if schema in self._known else Node(schema)
        kind = schema["type"]
        if not isinstance(kind, str):
            return self.node(kind)
        if kind in _NAMED:
            return self._named(kind, schema)
        if kind == "array":
            return Node("array", element=self.node(schema["items"]))
        if kind == "map":
            return Node("map", element=self.node(schema["values"]))
        if kind in self._made or kind in self._known:
            return self.node(kind)
        return _with_logical(Node(kind), schema)

    def _named(self, kind: str, schema: dict[str, Any]) -> Node:
        name = schema["name"]
        found = self._made.get(name)
        if found is not None:
            return found
        aliases = tuple(_full(alias, name) for alias in schema.get("aliases", ()))
        node = Node("record" if kind == "error" else kind, name=name, aliases=aliases)
        self._made[name] = node
        if kind == "enum":
            node.symbols = tuple(schema["symbols"])
            node.symbol_default = schema.get("default")
        elif kind == "fixed":
            node.size = int(schema["size"])
            _with_logical(node, schema)
        else:
            node.fields = [
                Field(
                    one["name"],
                    self.node(one["type"]),
                    one.get("default", MISSING),
                    tuple(one.get("aliases", ())),
                )
                for one in schema["fields"]
            ]
        return node


#: A logical type on another type than its own means nothing (Avro's specification).
_LOGICAL = {
    "int": ("date",),
    "long": (
        "timestamp-millis",
        "timestamp-micros",
        "timestamp-nanos",
        "local-timestamp-millis",
        "local-timestamp-micros",
        "local-timestamp-nanos",
    ),
    "bytes": ("decimal",),
    "fixed": ("decimal",),
}


def _with_logical(node: Node, schema: dict[str, Any]) -> Node:
    logical = schema.get("logicalType")
    if logical not in _LOGICAL.get(node.kind, ()):
        return node
    if logical == "decimal":
        precision, scale = schema.get("precision"), schema.get("scale", 0)
        if not isinstance(precision, int) or not isinstance(scale, int):
            return node
        if precision < 1 or not 0 <= scale <= precision:
            return node
        node.precision, node.scale = precision, scale
    node.logical = str(logical)
    return node


def _full(name: str, owner: str) -> str:
    space = owner.rpartition(".")[0]
    return name if "." in name or not space else f"{space}.{name}"
