"""What can stand between two Avro schemas, in the kinds, places and words of other registries."""

from __future__ import annotations

from headrace.registry.avro.types import AvroField, AvroType
from headrace.registry.core.difference import Difference


def missing_field(field: AvroField, writer: AvroType, place: str) -> Difference:
    if field.type.symbol_default is not None:
        # Avro takes the default of the enum for one of the field, and then finds no enum.
        return type_mismatch(field.type, writer, f"{place}/type")
    return Difference(
        "READER_FIELD_MISSING_DEFAULT_VALUE",
        place,
        f"The field '{field.name}' at path '{place}' in the {{reader}} schema has"
        " no default value and is missing in the {writer} schema",
        field.name,
    )


def ambiguous_field(field: AvroField, place: str) -> Difference:
    return Difference(
        "AMBIGUOUS_FIELD_ALIAS",
        place,
        f"The field '{field.name}' at path '{place}' in the {{reader}} schema matches"
        " more than one field of the {writer} schema by its name and aliases",
        field.name,
    )


def type_mismatch(reader: AvroType, writer: AvroType, path: str) -> Difference:
    place = path or "/"
    return Difference(
        "TYPE_MISMATCH",
        place,
        f"The type (path '{place}') of a field in the {{reader}} schema"
        " does not match with the {writer} schema",
        f"reader type: {reader.kind.upper()}"
        f" not compatible with writer type: {writer.kind.upper()}",
    )


def name_mismatch(reader: AvroType, writer: AvroType, path: str) -> list[Difference]:
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


def size_mismatch(reader: AvroType, writer: AvroType, path: str) -> list[Difference]:
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


def missing_symbols(reader: AvroType, writer: AvroType, path: str) -> list[Difference]:
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


def missing_branch(writer: AvroType, path: str) -> Difference:
    place = path or "/"
    return Difference(
        "MISSING_UNION_BRANCH",
        place,
        "The {reader} schema is missing a type inside a union field"
        f" at path '{place}' in the {{writer}} schema",
        f"reader union lacking writer type: {writer.kind.upper()}",
    )
