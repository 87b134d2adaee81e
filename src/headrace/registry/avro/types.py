"""Avro's types as plain objects; recursive schemas refer to the same object again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
NAMED = ("record", "enum", "fixed")


class Missing:
    """The default of a field that has none; None is a default of its own."""


MISSING = Missing()


@dataclass(slots=True, eq=False)
class AvroField:
    """A field of a record."""

    name: str
    type: AvroType
    doc: str | None = None
    default: Any = MISSING
    order: str = "ascending"
    aliases: list[str] = field(default_factory=list)
    properties: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class AvroType:
    """One type; which of the fields mean something depends on `kind`."""

    kind: str
    #: The full name of a named type.
    name: str = ""
    doc: str | None = None
    aliases: list[str] = field(default_factory=list)
    is_error: bool = False
    fields: list[AvroField] = field(default_factory=list)
    symbols: list[str] = field(default_factory=list)
    symbol_default: str | None = None
    size: int = 0
    #: Of an array its items, of a map its values.
    element: AvroType | None = None
    branches: list[AvroType] = field(default_factory=list)
    properties: dict[str, Any] = field(default_factory=dict)

    @property
    def namespace(self) -> str:
        return self.name.rpartition(".")[0]

    @property
    def simple_name(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def inner(self) -> AvroType:
        """The element of an array or a map."""
        if self.element is None:
            raise TypeError(f"{self.kind} has no elements")
        return self.element
