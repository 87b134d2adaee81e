"""Columns of values to columns in the registry's wire format, for whoever has Arrow arrays.

On the driver, `pin_writer` finds or registers the schema; on executors, `encoder_for` gives what
writes columns of one type with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Protocol

import pyarrow as pa

from headrace.serde.avro_columns.decoder import Decoded
from headrace.serde.avro_columns.encoder import AvroColumnEncoder
from headrace.serde.avro_columns.schema import parse_nodes
from headrace.serde.codec import make_codec
from headrace.serde.errors import SchemaError
from headrace.serde.schema import AVRO, Reference, Schema
from headrace.spark.registry.clients import client_for
from headrace.spark.registry.settings import Settings

_ENCODERS_MAX = 100


@dataclass(frozen=True, slots=True)
class PinnedWriter:
    """A registered schema and all it refers to; small, and goes with a task."""

    schema_id: int
    schema: Schema
    referenced: tuple[tuple[str, Schema], ...] = ()
    #: Of a Protobuf schema with several messages: which one.
    message: str | None = None


class ColumnEncoder(Protocol):
    """Encodes columns of one type; what is null in them stays null."""

    def encode(self, column: pa.Array) -> Decoded: ...


def pin_writer(
    settings: Settings,
    subject: str,
    *,
    schema: str | None = None,
    schema_type: str = AVRO,
    references: Sequence[Reference] = (),
    auto_register: bool = True,
    normalize: bool = False,
    message: str | None = None,
) -> PinnedWriter:
    """The schema under the subject: registered, looked up, or without a text the latest."""
    registry = client_for(settings)
    if schema is None:
        registered = registry.latest(subject)
    else:
        given = Schema(schema, schema_type.upper(), tuple(references))
        make_codec(given, registry.referenced(given))  # what makes no sense is not registered
        put = registry.register if auto_register else registry.lookup
        registered = put(subject, given, normalize=normalize)
    referenced = tuple(registry.referenced(registered.schema).items())
    return PinnedWriter(registered.id, registered.schema, referenced, message)


_encoders: dict[tuple[PinnedWriter, pa.DataType], ColumnEncoder] = {}
_lock = Lock()


def encoder_for(writer: PinnedWriter, arrow: pa.DataType) -> ColumnEncoder:
    """This process's encoder of a schema for columns of a type; for one thread at a time."""
    with _lock:
        found = _encoders.get((writer, arrow))
        if found is None:
            while len(_encoders) >= _ENCODERS_MAX:
                del _encoders[next(iter(_encoders))]
            found = _encoders[writer, arrow] = _make_encoder(writer, arrow)
        return found


def _make_encoder(writer: PinnedWriter, arrow: pa.DataType) -> ColumnEncoder:
    if writer.schema.type == AVRO:
        node = parse_nodes(writer.schema.text, [schema.text for _, schema in writer.referenced])
        return AvroColumnEncoder(node, writer.schema_id, arrow)
    if pa.types.is_struct(arrow):
        from headrace.spark.registry.record_encoding import RecordColumnEncoder

        return RecordColumnEncoder(writer)
    raise SchemaError(f"A {writer.schema.type} record is written from a struct, not from {arrow}.")
