"""JSON in the registry's wire format to columns of the reader's JSON Schema."""

from __future__ import annotations

import json
from typing import Any

from headrace.serde.errors import SchemaError
from headrace.serde.json_schema import JsonSchemaCodec
from headrace.serde.registry_client import RegistryClient
from headrace.serde.schema import JSON
from headrace.spark.registry.decoding import PinnedReader, written_schema
from headrace.spark.registry.json_types import JsonTypes
from headrace.spark.registry.record_columns import DecodeRecord, RecordColumnDecoder


class JsonColumnDecoder(RecordColumnDecoder):
    """What was written is not checked again; what the columns cannot hold is refused."""

    def __init__(self, reader: PinnedReader, registry: RegistryClient) -> None:
        super().__init__(registry)
        referenced = dict(reader.referenced)
        self._codec = JsonSchemaCodec(reader.schema, referenced)
        documents = {name: _load(schema.text) for name, schema in referenced.items()}
        self._column = JsonTypes(_load(reader.schema.text), documents).root()
        self.arrow_type = self._column.arrow

    def _decoder_of(self, schema_id: int) -> DecodeRecord:
        written_schema(self._registry, schema_id, JSON)
        decode, convert = self._codec.decode, self._column.convert
        return lambda data, at: convert(decode(data, at))


def _load(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"The JSON schema is no JSON: {error}.") from error
