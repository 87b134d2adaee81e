"""The file of a Protobuf schema in a descriptor pool of its own, after all that it imports."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from importlib import import_module

from google.protobuf import descriptor_pb2 as pb
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pool import Default, DescriptorPool
from google.protobuf.message import DecodeError

from headrace.serde.errors import SchemaError
from headrace.serde.protobuf_parser import parse_proto

MAIN_FILE = "headrace/schema.proto"
#: Files that clients of other registries import without registering them.
_BUILT_IN = {
    "confluent/meta.proto": 'syntax = "proto3"; package confluent;'
    " message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; }",
    "confluent/type/decimal.proto": 'syntax = "proto3"; package confluent.type;'
    " message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }",
}
#: Files that come with Protobuf itself.
_WELL_KNOWN = ("google/protobuf/", "google/type/")
_POOL_SAYS = "Couldn't build proto file into descriptor pool: "


class ProtobufFiles:
    """`references` are the texts of what the file may import, by the name it imports them by."""

    def __init__(self, text: str, references: Mapping[str, str]) -> None:
        self._pool = DescriptorPool()
        self._references = references
        self._add(read_file(text, MAIN_FILE), ())

    @property
    def main(self) -> FileDescriptor:
        return self._pool.FindFileByName(MAIN_FILE)

    def _add(self, file: pb.FileDescriptorProto, above: tuple[str, ...]) -> None:
        for name in file.dependency:
            if name in above:
                raise SchemaError(f"The Protobuf schema imports itself by way of {name}.")
            if not self._has(name):
                self._add(self._import(name), (*above, name))
        try:
            self._pool.Add(file)
            self._pool.FindFileByName(file.name)
        except (TypeError, KeyError, ValueError) as error:
            reason = str(error).replace(_POOL_SAYS, "").strip()
            raise SchemaError(f"The Protobuf schema is invalid: {reason}.") from error

    def _has(self, name: str) -> bool:
        try:
            self._pool.FindFileByName(name)
        except KeyError:
            return False
        return True

    def _import(self, name: str) -> pb.FileDescriptorProto:
        text = self._references.get(name) or _BUILT_IN.get(name)
        if text is not None:
            return read_file(text, name)
        if name.startswith(_WELL_KNOWN):
            file = pb.FileDescriptorProto()
            try:
                import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
                Default().FindFileByName(name).CopyToProto(file)
            except (ImportError, KeyError):
                pass
            else:
                return file
        raise SchemaError(f"The Protobuf schema imports {name}, which is not registered.")


def read_file(text: str, name: str) -> pb.FileDescriptorProto:
    """From a `.proto` text, or from the descriptor in base64 that some clients register."""
    file = read_descriptor(text)
    if file is None:
        return parse_proto(text, name)
    file.name = name
    return file


def read_descriptor(text: str) -> pb.FileDescriptorProto | None:
    """The descriptor, if the text is one in base64."""
    try:
        return pb.FileDescriptorProto.FromString(b64decode(text.strip(), validate=True))
    except (ValueError, DecodeError):
        return None
