"""Columns in the registry's wire format to columns of values, for whoever has Arrow arrays.

On the driver, `pin_reader` decides which schema the values are seen through: it is part of the
plan, since it decides the type of the column. On executors, `decoder_for` gives the decoder of that
schema, made once in each process. Schemas of writers are asked for when their ids are met.

    reader = pin_reader(settings, subject="orders-value")      # on the driver
    spark_type(reader)                                          # the column's type
    values, reasons = decoder_for(reader).decode(column)        # on an executor

A row that cannot be decoded is null, and `reasons` says why by its number. A registry that does not
answer is no fault of a row: it is raised, so that the task is tried again.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any, Protocol

import pyarrow as pa

from headrace.serde.avro_columns.decoder import AvroColumnDecoder, Decoded
from headrace.serde.avro_columns.schema import Node, parse_nodes
from headrace.serde.errors import RegistryError, SchemaError
from headrace.serde.registry_client import RegistryClient
from headrace.serde.schema import AVRO, JSON, PROTOBUF, SCHEMA_TYPES, Schema
from headrace.spark.registry.clients import client_for
from headrace.spark.registry.settings import Settings

_NOT_FOUND = 404
_DECODERS_MAX = 100


@dataclass(frozen=True, slots=True)
class PinnedReader:
    """The schema that values are seen through, and all it refers to; it goes with each task."""

    settings: Settings
    schema: Schema
    referenced: tuple[tuple[str, Schema], ...] = ()
    #: Of a Protobuf schema with several messages: which one.
    message: str | None = None


class ColumnDecoder(Protocol):
    """Decodes binary columns; what is null in them stays null."""

    arrow_type: pa.DataType

    def decode(self, column: pa.Array) -> Decoded: ...


def pin_reader(
    settings: Settings,
    *,
    subject: str | None = None,
    reader_schema: str | None = None,
    schema_type: str | None = None,
    message: str | None = None,
) -> PinnedReader:
    """A schema of the caller's own, or the subject's latest of now."""
    if schema_type is not None and schema_type.upper() not in SCHEMA_TYPES:
        raise SchemaError(f"The schema type {schema_type} is unknown.")
    registry = client_for(settings)
    if reader_schema is not None:
        schema = Schema(reader_schema, (schema_type or AVRO).upper())
    elif subject is not None:
        schema = registry.latest(subject).schema
        if schema_type is not None and schema.type != schema_type.upper():
            raise SchemaError(f"The latest schema of {subject} is {schema.type}.")
    else:
        raise SchemaError("A reader's schema needs a subject or a text.")
    referenced = tuple(registry.referenced(schema).items())
    reader = PinnedReader(settings, schema, referenced, message)
    decoder_for(reader)  # what cannot become a column is said here, before anything runs
    return reader


def spark_type(reader: PinnedReader) -> Any:
    """The type of the decoded column."""
    from pyspark.sql.pandas.types import from_arrow_type

    return from_arrow_type(decoder_for(reader).arrow_type)


_decoders: dict[PinnedReader, ColumnDecoder] = {}
_lock = Lock()


def decoder_for(reader: PinnedReader) -> ColumnDecoder:
    """This process's decoder of a reader; for one thread at a time."""
    with _lock:
        found = _decoders.get(reader)
        if found is None:
            while len(_decoders) >= _DECODERS_MAX:
                del _decoders[next(iter(_decoders))]
            found = _decoders[reader] = _make_decoder(reader)
        return found


def _make_decoder(reader: PinnedReader) -> ColumnDecoder:
    registry = client_for(reader.settings)
    if reader.schema.type == AVRO:
        texts = [schema.text for _, schema in reader.referenced]
        node = parse_nodes(reader.schema.text, texts)
        return AvroColumnDecoder(node, lambda schema_id: _avro_node(registry, schema_id))
    if reader.schema.type == JSON:
        from headrace.spark.registry.json_columns import JsonColumnDecoder

        return JsonColumnDecoder(reader, registry)
    if reader.schema.type == PROTOBUF:
        from headrace.spark.registry.protobuf_columns import ProtobufColumnDecoder

        return ProtobufColumnDecoder(reader, registry)
    raise SchemaError(f"The schema type {reader.schema.type} is unknown.")


def _avro_node(registry: RegistryClient, schema_id: int) -> Node:
    schema = written_schema(registry, schema_id, AVRO)
    return parse_nodes(schema.text, [one.text for one in registry.referenced(schema).values()])


def written_schema(registry: RegistryClient, schema_id: int, type_: str) -> Schema:
    """The schema of an id; a `SchemaError` if there is none, or one of another language."""
    try:
        schema = registry.schema_by_id(schema_id)
    except RegistryError as error:
        if error.status == _NOT_FOUND:
            raise SchemaError(f"The registry does not know schema {schema_id}.") from error
        raise
    if schema.type != type_:
        raise SchemaError(f"Schema {schema_id} is {schema.type}, and the reader's is {type_}.")
    return schema
