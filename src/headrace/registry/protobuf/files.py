"""The files of a Protobuf schema as the registry stores and shows them."""

from __future__ import annotations

import base64

from google.protobuf import descriptor_pb2 as pb
from google.protobuf.descriptor import FileDescriptor

from headrace.registry.protobuf.descriptor_text import proto_text
from headrace.serde.protobuf_files import read_descriptor


def text_of(schema: str) -> str:
    """The `.proto` text of a schema, which may be a descriptor in base64 instead."""
    file = read_descriptor(schema)
    return schema if file is None else proto_text(file)


def serialized(file: FileDescriptor) -> str:
    """The descriptor in base64, all names in it resolved."""
    copy = pb.FileDescriptorProto()
    file.CopyToProto(copy)
    copy.name = "default"
    return base64.b64encode(copy.SerializeToString(deterministic=True)).decode()
