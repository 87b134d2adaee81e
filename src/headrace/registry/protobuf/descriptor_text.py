"""A descriptor as the `.proto` text it comes from; clients in Python register descriptors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from google.protobuf import descriptor_pb2 as pb

_Field = pb.FieldDescriptorProto
_EXTENSION_END = 1 << 29
_LABELS = {_Field.LABEL_REQUIRED: "required ", _Field.LABEL_REPEATED: "repeated "}


def proto_text(file: pb.FileDescriptorProto) -> str:
    """Every statement on a line; the layout is somebody else's business."""
    return "\n".join(_Text(file).lines()) + "\n"


class _Text:
    def __init__(self, file: pb.FileDescriptorProto) -> None:
        self._file = file
        self._is_proto3 = file.syntax == "proto3"

    def lines(self) -> Iterator[str]:
        file = self._file
        if file.syntax == "editions":
            yield f'edition = "{pb.Edition.Name(file.edition).removeprefix("EDITION_")}";'
        else:
            yield f'syntax = "{file.syntax or "proto2"}";'
        if file.package:
            yield f"package {file.package};"
        for index, name in enumerate(file.dependency):
            public = "public " if index in file.public_dependency else ""
            yield f'import {public}"{name}";'
        yield from _options(file.options)
        for message in file.message_type:
            yield from self._message(message)
        for enum in file.enum_type:
            yield from self._enum(enum)
        yield from self._extensions(file.extension)
        for service in file.service:
            yield from self._service(service)

    def _message(self, message: pb.DescriptorProto) -> Iterator[str]:
        yield f"message {message.name} {{"
        yield from _options(message.options)
        yield from _reserved(message)
        written: set[int] = set()
        for field in message.field:
            if field.HasField("oneof_index") and not field.proto3_optional:
                if field.oneof_index not in written:
                    written.add(field.oneof_index)
                    yield from self._oneof(message, field.oneof_index)
            else:
                yield self._field(field)
        for one in message.extension_range:
            last = "max" if one.end >= _EXTENSION_END else str(one.end - 1)
            yield f"extensions {one.start} to {last};"
        # Entries of maps are written out as the messages they are, as other registries do it:
        # records name a message by its position among all of them.
        for nested in message.nested_type:
            yield from self._message(nested)
        for enum in message.enum_type:
            yield from self._enum(enum)
        yield from self._extensions(message.extension)
        yield "}"

    def _oneof(self, message: pb.DescriptorProto, index: int) -> Iterator[str]:
        yield f"oneof {message.oneof_decl[index].name} {{"
        yield from _options(message.oneof_decl[index].options)
        for field in message.field:
            if field.HasField("oneof_index") and field.oneof_index == index:
                yield self._field(field, in_oneof=True)
        yield "}"

    def _field(self, field: pb.FieldDescriptorProto, *, in_oneof: bool = False) -> str:
        ending = f"{field.name} = {field.number}{_field_options(field)};"
        label = _LABELS.get(field.label, "")
        has_presence = field.proto3_optional or not self._is_proto3
        if not label and not in_oneof and has_presence and self._file.syntax != "editions":
            label = "optional "
        return f"{label}{_type(field)} {ending}"

    def _extensions(self, extensions: Any) -> Iterator[str]:
        for field in extensions:
            yield f"extend {field.extendee} {{"
            yield self._field(field)
            yield "}"

    def _enum(self, enum: pb.EnumDescriptorProto) -> Iterator[str]:
        yield f"enum {enum.name} {{"
        yield from _options(enum.options)
        for value in enum.value:
            options = ", ".join(_settings(value.options))
            yield f"{value.name} = {value.number}{f' [{options}]' if options else ''};"
        for one in enum.reserved_range:
            yield f"reserved {one.start} to {one.end};"
        for name in enum.reserved_name:
            yield f'reserved "{name}";'
        yield "}"

    def _service(self, service: pb.ServiceDescriptorProto) -> Iterator[str]:
        yield f"service {service.name} {{"
        yield from _options(service.options)
        for method in service.method:
            takes = "stream " if method.client_streaming else ""
            gives = "stream " if method.server_streaming else ""
            head = f"rpc {method.name} ({takes}{method.input_type})"
            yield f"{head} returns ({gives}{method.output_type});"
        yield "}"


def _type(field: pb.FieldDescriptorProto) -> str:
    if field.type_name:
        return str(field.type_name)
    return str(_Field.Type.Name(field.type)).removeprefix("TYPE_").lower()


def _field_options(field: pb.FieldDescriptorProto) -> str:
    parts = []
    if field.HasField("default_value"):
        is_text = field.type in (_Field.TYPE_STRING, _Field.TYPE_BYTES)
        text = json.dumps(field.default_value) if is_text else field.default_value
        parts.append(f"default = {text}")
    if field.json_name and field.json_name != _json_name(field.name):
        parts.append(f"json_name = {json.dumps(field.json_name)}")
    parts += _settings(field.options)
    return f" [{', '.join(parts)}]" if parts else ""


def _json_name(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def _reserved(message: pb.DescriptorProto) -> Iterator[str]:
    for one in message.reserved_range:
        last = one.end - 1
        yield f"reserved {one.start};" if last == one.start else f"reserved {one.start} to {last};"
    for name in message.reserved_name:
        yield f'reserved "{name}";'


def _options(options: Any) -> Iterator[str]:
    return (f"option {setting};" for setting in _settings(options))


def _settings(options: Any) -> list[str]:
    """The options that Protobuf itself defines; those of other files are not in a descriptor
    that can be read without them."""
    found = []
    for descriptor, value in options.ListFields():
        if descriptor.is_extension or descriptor.message_type is not None:
            continue
        if isinstance(value, list):
            continue
        if descriptor.enum_type is not None:
            text = descriptor.enum_type.values_by_number[value].name
        elif isinstance(value, bool):
            text = "true" if value else "false"
        else:
            text = json.dumps(value) if isinstance(value, str) else str(value)
        found.append(f"{descriptor.name} = {text}")
    return found
