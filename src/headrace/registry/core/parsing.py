"""Schemas parsed together with what they refer to; what was parsed lately is kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Generic, TypeVar

from headrace.registry.core.languages import parse
from headrace.registry.core.parsed import ParsedSchema
from headrace.registry.core.schema import Schema
from headrace.registry.core.state import RegistryState
from headrace.registry.core.subjects import beside, context_of
from headrace.registry.errors import InvalidSchemaError

_KEPT_MAX = 1000
#: Of larger texts only a few are kept: one request looks at the same text several times.
_SMALL_TEXT_MAX = 64 * 1024
_LARGE_KEPT_MAX = 4
_REFERENCES_MAX = 1000
LATEST = -1

V = TypeVar("V")


class SchemaParser:
    """Parses in the light of a state: references are subjects and versions in it."""

    def __init__(self, state: RegistryState, kept_max: int = _KEPT_MAX) -> None:
        self._state = state
        self._parsed = Kept[ParsedSchema](kept_max)

    def parse(self, subject: str, schema: Schema, *, is_new: bool = False) -> ParsedSchema:
        """Parse what stands, or is to stand, under a subject."""
        references = self.references(subject, schema)
        # References are fixed by subject and version, so their texts need not be compared.
        key = (context_of(subject), schema.type, schema.text, schema.references, is_new)

        def make() -> ParsedSchema:
            return parse(schema.type, schema.text, references, is_new=is_new)

        return self._parsed.get(key, make, size=len(schema.text))

    def with_fixed_references(self, subject: str, schema: Schema) -> Schema:
        """A reference to the latest version refers to the one that is the latest now."""
        if all(reference.version != LATEST for reference in schema.references):
            return schema
        fixed = []
        for reference in schema.references:
            place = beside(subject, reference.subject)
            versions = self._state.versions(place)
            if reference.version == LATEST and versions:
                reference = reference._replace(version=versions[-1].version)
            fixed.append(reference)
        return replace(schema, references=tuple(fixed))

    def references(self, subject: str, schema: Schema) -> dict[str, str]:
        """The texts of everything a schema refers to, each after what it refers to itself."""
        found: dict[str, str] = {}
        if schema.references:
            self._collect(subject, schema, found, [])
        return found

    def _collect(
        self, subject: str, schema: Schema, found: dict[str, str], above: list[tuple[str, int]]
    ) -> None:
        for reference in schema.references:
            place = (beside(subject, reference.subject), reference.version)
            if place in above:
                raise InvalidSchemaError(f"The reference {reference.name} leads back to itself")
            version = self._referred(place)
            if version is None:
                raise InvalidSchemaError(
                    f'No schema reference found for subject "{place[0]}" and version {place[1]}'
                )
            if reference.name in found:
                continue
            if len(found) >= _REFERENCES_MAX:
                raise InvalidSchemaError(f"There are more than {_REFERENCES_MAX} references")
            self._collect(place[0], version, found, [*above, place])
            found[reference.name] = version.text

    def _referred(self, place: tuple[str, int]) -> Schema | None:
        found = self._state.version(*place)
        return None if found is None else found.schema


class Kept(Generic[V]):
    """A few results, the least recently used one leaves first; of large texts, very few."""

    def __init__(self, kept_max: int) -> None:
        self._small_max = kept_max
        self._small: OrderedDict[object, V] = OrderedDict()
        self._large: OrderedDict[object, V] = OrderedDict()

    def get(self, key: object, make: Callable[[], V], *, size: int) -> V:
        """`size` is that of the text that the result is made from."""
        is_small = size <= _SMALL_TEXT_MAX
        table, limit = (
            (self._small, self._small_max) if is_small else (self._large, _LARGE_KEPT_MAX)
        )
        found = table.get(key)
        if found is not None:
            table.move_to_end(key)
            return found
        made = table[key] = make()
        if len(table) > limit:
            table.popitem(last=False)
        return made
