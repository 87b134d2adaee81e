"""Whether data of one Protobuf schema can be read with another: fields are known by number."""

from __future__ import annotations

from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor

from headrace.registry.core.difference import Difference
from headrace.serde.protobuf_files import MAIN_FILE

_SCALAR_GROUPS = (
    ("TYPE_INT32", "TYPE_INT64", "TYPE_UINT32", "TYPE_UINT64", "TYPE_BOOL", "TYPE_ENUM"),
    ("TYPE_SINT32", "TYPE_SINT64"),
    ("TYPE_STRING", "TYPE_BYTES"),
    ("TYPE_FIXED32", "TYPE_SFIXED32"),
    ("TYPE_FIXED64", "TYPE_SFIXED64"),
    ("TYPE_FLOAT",),
    ("TYPE_DOUBLE",),
)
#: Scalars of a group have the same bytes, and can take each other's place.
_GROUP = {
    getattr(FieldDescriptor, name): index
    for index, names in enumerate(_SCALAR_GROUPS)
    for name in names
}
_TEXT_GROUP = 2

_SAID = {
    "PACKAGE_CHANGED": "The package at '{path}' in the {reader} schema does not match"
    " the package in the {writer} schema",
    "MESSAGE_REMOVED": "The {reader} schema is missing a MESSAGE type at path '{path}'"
    " in the {writer} schema",
    "FIELD_KIND_CHANGED": "The type of a field at path '{path}' in the {reader} schema does"
    " not match the {writer} schema",
    "FIELD_SCALAR_KIND_CHANGED": "The kind of a SCALAR field at path '{path}' in the {reader}"
    " schema does not match its kind in the {writer} schema",
    "FIELD_NAMED_TYPE_CHANGED": "The type of a MESSAGE field at path '{path}' in the {reader}"
    " schema does not match its type in the {writer} schema",
    "FIELD_NUMERIC_LABEL_CHANGED": "The label for a NUMERIC field at path '{path}' in the {reader}"
    " schema does not match its label in the {writer} schema",
    "REQUIRED_FIELD_ADDED": "A required field at path '{path}' in the {reader} schema"
    " is missing in the {writer} schema",
    "REQUIRED_FIELD_REMOVED": "The {reader} schema is missing a required field at path '{path}'"
    " in the {writer} schema",
    "ONEOF_FIELD_REMOVED": "The {reader} schema is missing a oneof field at path '{path}'"
    " in the {writer} schema",
    "MULTIPLE_FIELDS_MOVED_TO_ONEOF": "Multiple fields in the oneof at path '{path}'"
    " in the {reader} schema are outside a oneof in the {writer} schema",
    "FIELD_MOVED_TO_EXISTING_ONEOF": "A field in the oneof at path '{path}' in the {reader} schema"
    " is outside an existing oneof in the {writer} schema",
}


def unreadable(reader: FileDescriptor, writer: FileDescriptor) -> list[Difference]:
    return _Check().files(reader, writer)


class _Check:
    def __init__(self) -> None:
        self._under_way: set[tuple[str, str]] = set()

    def files(self, reader: FileDescriptor, writer: FileDescriptor) -> list[Difference]:
        found = []
        if reader.package != writer.package:
            found.append(_difference("PACKAGE_CHANGED", ()))
        readers = dict(reader.message_types_by_name)
        for name, message in writer.message_types_by_name.items():
            found += self._message(readers.get(name), message, (name,))
        return found

    def _message(
        self, reader: Descriptor | None, writer: Descriptor, path: tuple[str, ...]
    ) -> list[Difference]:
        if reader is None:
            return [_difference("MESSAGE_REMOVED", path)]
        pair = (reader.full_name, writer.full_name)
        if pair in self._under_way:
            return []
        self._under_way.add(pair)
        found = [*_oneofs(reader, writer, path), *self._fields(reader, writer, path)]
        nested = {one.name: one for one in reader.nested_types}
        for message in writer.nested_types:
            if not message.GetOptions().map_entry:
                found += self._message(nested.get(message.name), message, (*path, message.name))
        self._under_way.discard(pair)
        return found

    def _fields(
        self, reader: Descriptor, writer: Descriptor, path: tuple[str, ...]
    ) -> list[Difference]:
        found = []
        readers, writers = dict(reader.fields_by_number), dict(writer.fields_by_number)
        deleted = _deleted_oneofs(reader, writer)
        for number in sorted({*readers, *writers}):
            before, after = writers.get(number), readers.get(number)
            if after is None and before is not None:
                found += _removed(before, deleted, path)
            elif before is None and after is not None:
                if after.is_required:
                    found.append(_difference("REQUIRED_FIELD_ADDED", (*path, str(number))))
            elif before is not None and after is not None:
                found += self._field(after, before, _place(after, path))
        return found

    def _field(
        self, reader: FieldDescriptor, writer: FieldDescriptor, path: tuple[str, ...]
    ) -> list[Difference]:
        if _kind(reader) != _kind(writer):
            return [_difference("FIELD_KIND_CHANGED", path)]
        after, before = reader.message_type, writer.message_type
        if after is None or before is None:
            return _scalars(reader, writer, path)
        if _kind(reader) == "map":
            return [
                change
                for name in ("key", "value")
                for change in self._field(
                    after.fields_by_name[name], before.fields_by_name[name], path
                )
            ]
        return self._messages(after, before, path)

    def _messages(
        self, reader: Descriptor, writer: Descriptor, path: tuple[str, ...]
    ) -> list[Difference]:
        if _local_name(reader) != _local_name(writer):
            return [_difference("FIELD_NAMED_TYPE_CHANGED", path)]
        if _is_in_main(reader) and _is_in_main(writer):
            # Both are compared where they stand.
            return []
        found = self._message(reader, writer, tuple(_local_name(reader).split(".")))
        return [*found, _difference("FIELD_NAMED_TYPE_CHANGED", path)] if found else []


def _oneofs(reader: Descriptor, writer: Descriptor, path: tuple[str, ...]) -> list[Difference]:
    """Fields that could be set together, and are now one or the other."""
    found = []
    writers = dict(writer.fields_by_number)
    for oneof in reader.oneofs:
        if _is_synthetic(oneof):
            continue
        groups, loose = set(), 0
        for field in oneof.fields:
            before = writers.get(field.number)
            if before is None:
                continue
            if _oneof_of(before) is None:
                loose += 1
                groups.add(f"field {field.number}")
            else:
                groups.add(f"oneof {_oneof_of(before)}")
        if len(groups) > 1:
            many = "MULTIPLE_FIELDS_MOVED_TO_ONEOF"
            kind = many if loose > 1 else "FIELD_MOVED_TO_EXISTING_ONEOF"
            found.append(_difference(kind, (*path, oneof.name)))
    return found


def _deleted_oneofs(reader: Descriptor, writer: Descriptor) -> set[str]:
    """Oneofs of which nothing is left at all."""
    names = {oneof.name for oneof in reader.oneofs}
    left = reader.fields_by_number
    return {
        oneof.name
        for oneof in writer.oneofs
        if oneof.name not in names and not any(field.number in left for field in oneof.fields)
    }


def _removed(field: FieldDescriptor, deleted: set[str], path: tuple[str, ...]) -> list[Difference]:
    oneof = _oneof_of(field)
    if oneof is not None:
        if oneof in deleted:
            return []
        return [_difference("ONEOF_FIELD_REMOVED", (*path, oneof, str(field.number)))]
    if field.is_required:
        return [_difference("REQUIRED_FIELD_REMOVED", (*path, str(field.number)))]
    return []


def _scalars(
    reader: FieldDescriptor, writer: FieldDescriptor, path: tuple[str, ...]
) -> list[Difference]:
    group = _GROUP[reader.type]
    if group != _GROUP[writer.type]:
        return [_difference("FIELD_SCALAR_KIND_CHANGED", path)]
    if group != _TEXT_GROUP and reader.is_repeated != writer.is_repeated:
        return [_difference("FIELD_NUMERIC_LABEL_CHANGED", path)]
    return []


def _kind(field: FieldDescriptor) -> str:
    if field.message_type is None:
        return "scalar"
    return "map" if field.message_type.GetOptions().map_entry else "message"


def _oneof_of(field: FieldDescriptor) -> str | None:
    oneof = field.containing_oneof
    return None if oneof is None or _is_synthetic(oneof) else str(oneof.name)


def _is_synthetic(oneof: object) -> bool:
    """What stands for `optional` in proto3."""
    fields = oneof.fields  # type: ignore[attr-defined]
    return len(fields) == 1 and oneof.name == f"_{fields[0].name}"  # type: ignore[attr-defined]


def _place(field: FieldDescriptor, path: tuple[str, ...]) -> tuple[str, ...]:
    oneof = _oneof_of(field)
    return (*path, *(() if oneof is None else (oneof,)), str(field.number))


def _local_name(message: Descriptor) -> str:
    package, name = message.file.package, str(message.full_name)
    return name.removeprefix(f"{package}.") if package else name


def _is_in_main(message: Descriptor) -> bool:
    return bool(message.file.name == MAIN_FILE)


def _difference(kind: str, path: tuple[str, ...]) -> Difference:
    place = "#/" + "/".join(path)
    return Difference(kind, place, _SAID[kind].replace("{path}", place))
