"""Protobuf in the registry's wire format to columns of the reader's message."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from headrace.serde.errors import SerdeError
from headrace.serde.protobuf import ProtobufCodec
from headrace.serde.registry_client import RegistryClient
from headrace.serde.schema import PROTOBUF
from headrace.serde.wire import read_indexes
from headrace.spark.registry.decoding import PinnedReader, written_schema
from headrace.spark.registry.protobuf_types import message_column
from headrace.spark.registry.record_columns import DecodeRecord, RecordColumnDecoder


class ProtobufColumnDecoder(RecordColumnDecoder):
    """Fields are found by their numbers, so the reader's message reads what any version wrote."""

    def __init__(self, reader: PinnedReader, registry: RegistryClient) -> None:
        super().__init__(registry)
        codec = ProtobufCodec(reader.schema, dict(reader.referenced), reader.message)
        self._kind = GetMessageClass(codec.descriptor)
        self._name = codec.descriptor.full_name
        self._column = message_column(codec.descriptor)
        self.arrow_type = self._column.arrow

    def _decoder_of(self, schema_id: int) -> DecodeRecord:
        schema = written_schema(self._registry, schema_id, PROTOBUF)
        codec = ProtobufCodec(schema, self._registry.referenced(schema))
        kind, convert = self._kind, self._column.convert
        names: dict[tuple[int, ...], str] = {}

        def decode(data: bytes, at: int) -> Any:
            path, at = read_indexes(data, at)
            name = names.get(path)
            if name is None:
                name = names[path] = codec.message_name(path)
            if name != self._name:
                raise SerdeError(f"The data is a {name}, and the reader's message {self._name}.")
            try:
                return convert(kind.FromString(data[at:]))
            except (DecodeError, ValueError) as error:
                raise SerdeError(f"The data is not a {name}: {error}.") from error

        return decode
