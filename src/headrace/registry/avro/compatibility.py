"""Whether data of one Avro schema can be read with another: Avro's resolution rules.

The verdicts are those of Avro's own checker in Java; a test compares thousands of pairs.
"""

from __future__ import annotations

from headrace.registry.avro.differences import (
    ambiguous_field,
    missing_branch,
    missing_field,
    missing_symbols,
    name_mismatch,
    size_mismatch,
    type_mismatch,
)
from headrace.registry.avro.types import MISSING, NAMED, AvroType
from headrace.registry.core.difference import Difference
from headrace.registry.errors import InvalidSchemaError

#: Which writers a reader promotes, besides its own type.
_PROMOTED = {
    "long": ("int",),
    "float": ("int", "long"),
    "double": ("int", "long", "float"),
    "bytes": ("string",),
    "string": ("bytes",),
}
#: So many pairs of types are compared, and so many differences told. Whoever compares holds
#: everybody else up, and types that contain each other can be paired without an end in sight.
_PAIRS_MAX = 200_000
_TOLD_MAX = 1000


def unreadable(reader: AvroType, writer: AvroType) -> list[Difference]:
    """Everything that keeps `reader` from reading what `writer` wrote, in the reader's order."""
    return _Check().compare(reader, writer, "")


class _Check:
    """One comparison; a pair that is under way or done is not looked at again."""

    def __init__(self) -> None:
        self._done: dict[tuple[int, int], list[Difference]] = {}
        self._named: dict[int, dict[str, list[AvroType]]] = {}

    def compare(self, reader: AvroType, writer: AvroType, path: str) -> list[Difference]:
        pair = (id(reader), id(writer))
        known = self._done.get(pair)
        if known is None:
            if len(self._done) >= _PAIRS_MAX:
                raise InvalidSchemaError("The schema has too many types to be compared")
            # A schema that contains itself is readable if nothing else speaks against it.
            self._done[pair] = []
            known = self._done[pair] = self._compare(reader, writer, path)[:_TOLD_MAX]
        return known

    def _compare(self, reader: AvroType, writer: AvroType, path: str) -> list[Difference]:
        if reader.kind == writer.kind:
            return self._same_kind(reader, writer, path)
        if writer.kind == "union":
            found: list[Difference] = []
            for branch in writer.branches:
                found += self.compare(reader, branch, path)
            return found
        if reader.kind == "union":
            candidates = self._candidates(reader, writer)
            if any(not self.compare(branch, writer, path) for branch in candidates):
                return []
            return [missing_branch(writer, path)]
        if writer.kind in _PROMOTED.get(reader.kind, ()):
            return []
        return [type_mismatch(reader, writer, path)]

    def _candidates(self, union: AvroType, writer: AvroType) -> list[AvroType]:
        """The branches that can read a writer at all: a named type goes by its name."""
        if writer.kind not in NAMED:
            return [branch for branch in union.branches if branch.kind not in NAMED]
        by_name = self._named.get(id(union))
        if by_name is None:
            by_name = self._named[id(union)] = {}
            for branch in union.branches:
                if branch.kind in NAMED:
                    # Names are compared without their namespaces, aliases with them.
                    for name in {branch.simple_name, *(f"{one} " for one in branch.aliases)}:
                        by_name.setdefault(name, []).append(branch)
        by_alias = by_name.get(f"{writer.name} ", [])
        return [*by_name.get(writer.simple_name, []), *by_alias]

    def _same_kind(self, reader: AvroType, writer: AvroType, path: str) -> list[Difference]:
        match reader.kind:
            case "array":
                return self.compare(reader.inner, writer.inner, f"{path}/items")
            case "map":
                return self.compare(reader.inner, writer.inner, f"{path}/values")
            case "union":
                return [
                    missing_branch(branch, f"{path}/{index}")
                    for index, branch in enumerate(writer.branches)
                    if self.compare(reader, branch, f"{path}/{index}")
                ]
            case "fixed":
                return [*name_mismatch(reader, writer, path), *size_mismatch(reader, writer, path)]
            case "enum":
                names = name_mismatch(reader, writer, path)
                return [*names, *missing_symbols(reader, writer, path)]
            case "record":
                return [*name_mismatch(reader, writer, path), *self._fields(reader, writer, path)]
        return []

    def _fields(self, reader: AvroType, writer: AvroType, path: str) -> list[Difference]:
        found = []
        by_name = {one.name: one for one in writer.fields}
        for position, field in enumerate(reader.fields):
            place = f"{path}/fields/{position}"
            written = [by_name[name] for name in (field.name, *field.aliases) if name in by_name]
            if len(written) > 1:
                found.append(ambiguous_field(field, place))
            elif written:
                found += self.compare(field.type, written[0].type, f"{place}/type")
            elif field.default is MISSING:
                found.append(missing_field(field, writer, place))
        return found
