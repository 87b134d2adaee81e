"""A schema as the registry keeps it."""

from __future__ import annotations

from dataclasses import dataclass

AVRO = "AVRO"
JSON = "JSON"
PROTOBUF = "PROTOBUF"
SCHEMA_TYPES = (AVRO, JSON, PROTOBUF)


@dataclass(frozen=True, slots=True)
class Reference:
    """Another schema that a schema builds on: under which name, and where it is registered."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class Schema:
    """The text of a schema, in which language, and what it refers to."""

    text: str
    type: str = AVRO
    references: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema with its place in the registry; `version` is 0 where nobody asked for it."""

    schema: Schema
    id: int
    subject: str = ""
    version: int = 0
    guid: str | None = None
