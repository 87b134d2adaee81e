"""Whether data of one Avro schema can be read with another: Avro's resolution rules.

The verdicts are those of Avro's own checker in Java; a test compares thousands of pairs.
"""

from __future__ import annotations

from headrace.registry.avro.types import MISSING, AvroField, AvroType
from headrace.registry.core.difference import Difference

#: Which writers a reader promotes, besides its own type.
_PROMOTED = {
    "long": ("int",),
    "float": ("int", "long"),
    "double": ("int", "long", "float"),
    "bytes": ("string",),
    "string": ("bytes",),
}


def unreadable(reader: AvroType, writer: AvroType) -> list[Difference]:
    """Everything that keeps `reader` from reading what `writer` wrote, in the reader's order."""
    return _Check().compare(reader, writer, "")


class _Check:
    """One comparison; a pair that is under way or done is not looked at again."""

    def __init__(self) -> None:
        self._done: dict[tuple[int, int], list[Difference]] = {}

    def compare(self, reader: AvroType, writer: AvroType, path: str) -> list[Difference]:
        pair = (id(reader), id(writer))
        known = self._done.get(pair)
        if known is None:
            # A schema that contains itself is readable if nothing else speaks against it.
            self._done[pair] = []
            known = self._done[pair] = self._compare(reader, writer, path)
        return known

    def _compare(self, reader: AvroType, writer: AvroType, path: str) -> list[Difference]:
        if reader.kind == writer.kind:
            return self._same_kind(reader, writer, path)
        if writer.kind == "union":
            found = []
            for branch in writer.branches:
                found += self.compare(reader, branch, path)
            return found
        if reader.kind == "union":
            if any(not self.compare(branch, writer, path) for branch in reader.branches):
                return []
            return [_missing_branch(writer, path)]
        if writer.kind in _PROMOTED.get(reader.kind, ()):
            return []
        return [_mismatch(reader, writer, path)]

    def _same_kind(self, reader: AvroType, writer: AvroType, path: str) -> list[Difference]:
        match reader.kind:
            case "array":
                return self.compare(reader.inner, writer.inner, f"{path}/items")
            case "map":
                return self.compare(reader.inner, writer.inner, f"{path}/values")
            case "union":
                return [
                    _missing_branch(branch, f"{path}/{index}")
                    for index, branch in enumerate(writer.branches)
                    if self.compare(reader, branch, f"{path}/{index}")
                ]
            case "fixed":
                return [*_names(reader, writer, path), *_sizes(reader, writer, path)]
            case "enum":
                return [*_names(reader, writer, path), *_symbols(reader, writer, path)]
            case "record":
                return [*_names(reader, writer, path), *self._fields(reader, writer, path)]
        return []

    def _fields(self, reader: AvroType, writer: AvroType, path: str) -> list[Difference]:
        found = []
        by_name = {one.name: one for one in writer.fields}
        for position, field in enumerate(reader.fields):
            place = f"{path}/fields/{position}"
            written = [by_name[name] for name in (field.name, *field.aliases) if name in by_name]
            if len(written) > 1:
                found.append(_ambiguous(field, place))
            elif written:
                found += self.compare(field.type, written[0].type, f"{place}/type")
            elif field.default is MISSING:
                found.append(_missing(field, writer, place))
        return found


def _missing(field: AvroField, writer: AvroType, place: str) -> Difference:
    if field.type.symbol_default is not None:
        # Avro takes the default of the enum for one of the field, and then finds no enum.
        return _mismatch(field.type, writer, f"{place}/type")
    return Difference(
        "READER_FIELD_MISSING_DEFAULT_VALUE",
        place,
        f"The field '{field.name}' at path '{place}' in the {{reader}} schema has"
        " no default value and is missing in the {writer} schema",
        field.name,
    )


def _ambiguous(field: AvroField, place: str) -> Difference:
    return Difference(
        "AMBIGUOUS_FIELD_ALIAS",
        place,
        f"The field '{field.name}' at path '{place}' in the {{reader}} schema matches"
        " more than one field of the {writer} schema by its name and aliases",
        field.name,
    )


def _mismatch(reader: AvroType, writer: AvroType, path: str) -> Difference:
    place = path or "/"
    return Difference(
        "TYPE_MISMATCH",
        place,
        f"The type (path '{place}') of a field in the {{reader}} schema"
        " does not match with the {writer} schema",
        f"reader type: {reader.kind.upper()}"
        f" not compatible with writer type: {writer.kind.upper()}",
    )


def _names(reader: AvroType, writer: AvroType, path: str) -> list[Difference]:
    if reader.simple_name == writer.simple_name or writer.name in reader.aliases:
        return []
    place = f"{path}/name"
    return [
        Difference(
            "NAME_MISMATCH",
            place,
            f"The name of the schema has changed (path '{place}')",
            f"expected: {writer.name}",
        )
    ]


def _sizes(reader: AvroType, writer: AvroType, path: str) -> list[Difference]:
    if reader.size == writer.size:
        return []
    place = f"{path}/size"
    return [
        Difference(
            "FIXED_SIZE_MISMATCH",
            place,
            f"The size of FIXED type field at path '{place}' in the {{reader}} schema"
            " does not match with the {writer} schema",
            f"expected: {writer.size}, found: {reader.size}",
        )
    ]


def _symbols(reader: AvroType, writer: AvroType, path: str) -> list[Difference]:
    missing = sorted(set(writer.symbols) - set(reader.symbols))
    if not missing or reader.symbol_default is not None:
        return []
    place = f"{path}/symbols"
    listed = f"[{', '.join(missing)}]"
    return [
        Difference(
            "MISSING_ENUM_SYMBOLS",
            place,
            f"The {{reader}} schema is missing enum symbols '{listed}' at path '{place}'"
            " in the {writer} schema",
            listed,
        )
    ]


def _missing_branch(writer: AvroType, path: str) -> Difference:
    place = path or "/"
    return Difference(
        "MISSING_UNION_BRANCH",
        place,
        "The {reader} schema is missing a type inside a union field"
        f" at path '{place}' in the {{writer}} schema",
        f"reader union lacking writer type: {writer.kind.upper()}",
    )
