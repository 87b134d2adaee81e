"""State, parser and defaults together: what every question and every command needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from headrace.registry.core.levels import DEFAULT_LEVEL
from headrace.registry.core.parsed import ParsedSchema
from headrace.registry.core.parsing import Kept, SchemaParser
from headrace.registry.core.records import Record
from headrace.registry.core.schema import Schema, SchemaVersion
from headrace.registry.core.settings import READWRITE, config_in_scope, mode_in_scope
from headrace.registry.core.state import RegistryState
from headrace.registry.core.subjects import DEFAULT_CONTEXT, Subject, parse_subject


@dataclass(frozen=True, slots=True)
class CoreConfig:
    """What holds where the topic says nothing; the names are Confluent's settings."""

    schema_compatibility_level: str = DEFAULT_LEVEL
    mode_mutability: bool = True
    schema_validate_new_schemas: bool = True


class Decision(NamedTuple):
    """What a command comes to: records to append together, and the answer once they are there."""

    records: list[Record]
    reply: Any


@dataclass(slots=True)
class Registry:
    """The pure core; everything in it is a function of the replayed topic."""

    config: CoreConfig = field(default_factory=CoreConfig)
    state: RegistryState = field(default_factory=RegistryState)
    parser: SchemaParser = field(init=False)
    #: Schemas as they were sent, and as they are stored.
    canonical: Kept[Schema] = field(default_factory=lambda: Kept[Schema](2000))

    def __post_init__(self) -> None:
        self.parser = SchemaParser(self.state)

    def config_of(self, subject: str | None) -> dict[str, Any]:
        return config_in_scope(self.state, subject, self.config.schema_compatibility_level)

    def mode_of(self, subject: str | None) -> str:
        return mode_in_scope(self.state, subject, READWRITE)

    def parsed(self, version: SchemaVersion) -> ParsedSchema:
        return self.parser.parse(version.subject, version.schema)

    def others(self, subject: str) -> list[str]:
        """The same name in the other contexts, for questions that name no context."""
        found = parse_subject(subject)
        if found.context != DEFAULT_CONTEXT or not found.name:
            return []
        contexts = sorted(self.state.named_contexts)
        return [Subject(context, found.name).qualified for context in contexts]


def without_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    """As other registries answer: what is empty is left out."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {}, ())}
