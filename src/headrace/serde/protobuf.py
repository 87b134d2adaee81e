"""Protobuf, with messages made from the registry's schema while the program runs."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from google.protobuf import descriptor_pb2 as pb
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pool import Default, DescriptorPool
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.message import DecodeError, EncodeError, Message
from google.protobuf.message_factory import GetMessageClass

from headrace.serde.errors import SchemaError, SerdeError
from headrace.serde.protobuf_parser import parse_proto
from headrace.serde.schema import Schema
from headrace.serde.wire import read_indexes, write_indexes

_FILE = "headrace/schema.proto"
#: Files that every registry knows without being told.
_BUILT_IN = {
    "confluent/meta.proto": 'syntax = "proto3"; package confluent;',
    "confluent/type/decimal.proto": (
        'syntax = "proto3"; package confluent.type;'
        " message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }"
    ),
}


class ProtobufCodec:
    """One file; its first message unless a path or a name says otherwise."""

    def __init__(
        self, schema: Schema, referenced: Mapping[str, Schema], message_name: str | None = None
    ) -> None:
        self._pool = DescriptorPool()
        self._referenced = referenced
        file = _file(schema.text, _FILE)
        self._add(file, ())
        self._messages: dict[tuple[int, ...], tuple[type[Message], bytes]] = {}
        messages = self._pool.FindFileByName(_FILE).message_types_by_name
        self._top: list[Descriptor] = list(messages.values())
        if not self._top:
            raise SchemaError("The Protobuf schema has no message.")
        self._default = (0,) if message_name is None else self._path_of(message_name)
        self.record_name: str | None = self._descriptor(self._default).full_name

    # ---------------------------------------------------------------- values of Python

    def encode(self, value: Any) -> bytes:
        """A message of the schema, generated or dynamic, or a dict of its JSON form."""
        if isinstance(value, dict):
            return self.encode_json(value)
        if not isinstance(value, Message):
            raise SerdeError(f"A {type(value).__name__} is no Protobuf message.")
        path = self._path_of(value.DESCRIPTOR.full_name)
        try:
            return write_indexes(path) + value.SerializeToString()
        except (EncodeError, ValueError) as error:
            raise SerdeError(f"The value does not fit its schema: {error}.") from error

    def decode(self, data: bytes, at: int = 0) -> Message:
        path, at = read_indexes(data, at)
        kind, _ = self._message(path)
        try:
            return kind.FromString(data[at:])
        except (DecodeError, ValueError) as error:
            raise SerdeError(f"The data is not a {kind.DESCRIPTOR.full_name}: {error}.") from error

    # ---------------------------------------------------------------- Protobuf's JSON form

    def encode_json(self, value: Any) -> bytes:
        kind, indexes = self._message(self._default)
        if not isinstance(value, dict):
            raise SerdeError(
                f"The value does not fit its schema: it is {value!r:.60}, not a message"
                f" {self.record_name}."
            )
        try:
            return indexes + ParseDict(value, kind()).SerializeToString()
        except (ParseError, EncodeError, TypeError, ValueError) as error:
            raise SerdeError(
                f"The value does not fit its schema: {str(error).rstrip('.')}."
            ) from error

    def decode_json(self, data: bytes, at: int = 0) -> Any:
        try:
            return MessageToDict(self.decode(data, at), always_print_fields_with_no_presence=True)
        except (TypeError, ValueError) as error:
            raise SerdeError(f"The data has no JSON form: {error}.") from error

    # ---------------------------------------------------------------- messages

    def _message(self, path: tuple[int, ...]) -> tuple[type[Message], bytes]:
        found = self._messages.get(path)
        if found is None:
            found = GetMessageClass(self._descriptor(path)), write_indexes(path)
            self._messages[path] = found
        return found

    def _descriptor(self, path: tuple[int, ...]) -> Descriptor:
        level = self._top
        descriptor = None
        for index in path:
            if not 0 <= index < len(level):
                shown = "/".join(map(str, path))
                raise SerdeError(f"The schema has no Protobuf message at the path {shown}.")
            descriptor = level[index]
            level = _declared(descriptor)
        if descriptor is None:
            raise SerdeError("The path to the Protobuf message is empty.")
        return descriptor

    def _path_of(self, name: str) -> tuple[int, ...]:
        def search(level: list[Descriptor], path: tuple[int, ...]) -> tuple[int, ...] | None:
            for index, descriptor in enumerate(level):
                here = (*path, index)
                if name in (descriptor.full_name, descriptor.name):
                    return here
                deeper = search(_declared(descriptor), here)
                if deeper is not None:
                    return deeper
            return None

        found = search(self._top, ())
        if found is None:
            raise SerdeError(f"The schema has no Protobuf message {name}.")
        return found

    # ---------------------------------------------------------------- files

    def _add(self, file: pb.FileDescriptorProto, above: tuple[str, ...]) -> None:
        """Add a file after all that it imports."""
        for name in file.dependency:
            if name in above:
                raise SchemaError(f"The Protobuf schema imports itself by way of {name}.")
            if not self._has(name):
                self._add(self._import(name), (*above, name))
        try:
            self._pool.Add(file)
            self._pool.FindFileByName(file.name)
        except (TypeError, KeyError, ValueError) as error:
            reason = str(error).replace("Couldn't build proto file into descriptor pool: ", "")
            raise SchemaError(f"The Protobuf schema is invalid: {reason.strip()}.") from error

    def _has(self, name: str) -> bool:
        try:
            self._pool.FindFileByName(name)
        except KeyError:
            return False
        return True

    def _import(self, name: str) -> pb.FileDescriptorProto:
        if name in self._referenced:
            return _file(self._referenced[name].text, name)
        if name in _BUILT_IN:
            return parse_proto(_BUILT_IN[name], name)
        if name.startswith("google/protobuf/"):
            module = name.removesuffix(".proto").replace("/", ".") + "_pb2"
            try:
                import_module(module)
                file = pb.FileDescriptorProto()
                Default().FindFileByName(name).CopyToProto(file)
                return file
            except (ImportError, KeyError):
                pass
        raise SchemaError(f"The Protobuf schema imports {name}, which is not registered.")


def _file(text: str, name: str) -> pb.FileDescriptorProto:
    """Clients may also register a serialized descriptor in base64."""
    try:
        file = pb.FileDescriptorProto.FromString(b64decode(text, validate=True))
    except (ValueError, DecodeError):
        return parse_proto(text, name)
    file.name = name
    return file


def _declared(descriptor: Descriptor) -> list[Descriptor]:
    """The messages inside a message, as its text has them: entries of maps are not counted."""
    return [one for one in descriptor.nested_types if not one.GetOptions().map_entry]
