"""Protobuf files in a pool of their own, each after all that it imports."""

from __future__ import annotations

import base64
import binascii
import re
from importlib import import_module

from google.protobuf import descriptor_pb2 as pb
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pool import Default, DescriptorPool
from google.protobuf.message import DecodeError

from headrace.registry.core.parsed import References
from headrace.registry.errors import InvalidSchemaError
from headrace.registry.protobuf.descriptor_text import proto_text
from headrace.serde.errors import SchemaError
from headrace.serde.protobuf_parser import parse_proto

MAIN_FILE = "headrace/schema.proto"
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}\Z")
#: Files that clients of other registries import without registering them.
_BUILT_IN = {
    "confluent/meta.proto": 'syntax = "proto3"; package confluent;'
    " message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; }",
    "confluent/type/decimal.proto": 'syntax = "proto3"; package confluent.type;'
    " message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }",
}


def text_of(schema: str) -> str:
    """The `.proto` text of a schema, which may be a descriptor in base64 instead."""
    bare = schema.strip()
    if not _BASE64.match(bare) or len(bare) % 4:
        return schema
    try:
        file = pb.FileDescriptorProto.FromString(base64.b64decode(bare, validate=True))
    except (DecodeError, binascii.Error, ValueError):
        return schema
    return proto_text(file)


class ProtobufFiles:
    """The pool of one schema."""

    def __init__(self, text: str, references: References) -> None:
        self._pool = DescriptorPool()
        self._references = references
        try:
            self._add(parse_proto(text, MAIN_FILE), ())
        except SchemaError as error:
            raise InvalidSchemaError(str(error)) from error

    @property
    def main(self) -> FileDescriptor:
        return self._pool.FindFileByName(MAIN_FILE)

    def serialized(self) -> str:
        """The descriptor in base64, all names in it resolved."""
        file = pb.FileDescriptorProto()
        self.main.CopyToProto(file)
        file.name = "default"
        return base64.b64encode(file.SerializeToString(deterministic=True)).decode()

    def _add(self, file: pb.FileDescriptorProto, above: tuple[str, ...]) -> None:
        for name in file.dependency:
            if name in above:
                raise InvalidSchemaError(f"The schema imports itself by way of {name}")
            if not self._has(name):
                self._add(self._import(name), (*above, name))
        try:
            self._pool.Add(file)
            self._pool.FindFileByName(file.name)
        except (TypeError, KeyError, ValueError) as error:
            reason = str(error).replace("Couldn't build proto file into descriptor pool: ", "")
            raise InvalidSchemaError(f"Invalid Protobuf schema: {reason.strip()}") from error

    def _has(self, name: str) -> bool:
        try:
            self._pool.FindFileByName(name)
        except KeyError:
            return False
        return True

    def _import(self, name: str) -> pb.FileDescriptorProto:
        text = self._references.get(name) or _BUILT_IN.get(name)
        if text is not None:
            return parse_proto(text_of(text), name)
        if name.startswith(("google/protobuf/", "google/type/")):
            file = pb.FileDescriptorProto()
            try:
                import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
                Default().FindFileByName(name).CopyToProto(file)
            except (ImportError, KeyError):
                pass
            else:
                return file
        raise InvalidSchemaError(f"The schema imports {name}, which none of its references is")
