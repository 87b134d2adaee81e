"""Values decoded while a topic is read, instead of by a function over what was read.

`decoded_values` pins the reader's schema and hands it to the source as an option, so that every
process that plans or reads the query sees the same. The source asks here for the types of its
columns, and for the columns themselves: from the fetched bytes straight to values, without the
binary column between them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from headrace.serde.avro_columns.decoder import AvroColumnDecoder, Decoded
from headrace.serde.schema import Reference, Schema
from headrace.spark.registry.decoding import PinnedReader, decoder_for, spark_type
from headrace.spark.registry.functions import pinned, reason_column

#: The option that carries the pinned schema.
OPTION = "headrace.value.reader"
#: Why a value is null, beside it.
ERROR = "value_error"


def decoded_values(
    reader: Any,
    *,
    topic: str | None = None,
    subject: str | None = None,
    url: str | None = None,
    reader_schema: str | None = None,
    schema_type: str | None = None,
    message: str | None = None,
    options: Mapping[str, str] | None = None,
) -> Any:
    """A reader (`spark.read` or `spark.readStream` with its options) whose values are decoded.

    The column `value` has the type of the reader's schema, and `value_error` says why it is null.
    """
    found = pinned(*(topic, subject, False, url, reader_schema, schema_type, message), options)
    return reader.option(OPTION, write_reader(found))


def value_types(text: str) -> dict[str, Any]:
    """The types of the columns that a source with this option has instead of its binary value."""
    from pyspark.sql.types import StringType

    return {"value": spark_type(read_reader(text)), ERROR: StringType()}


def decode_values(text: str, data: Any, positions: Any, lengths: Any) -> tuple[pa.Array, pa.Array]:
    """The values that lie in fetched bytes, and the reasons of those that cannot be decoded."""
    decoder = decoder_for(read_reader(text))
    if isinstance(decoder, AvroColumnDecoder):
        decoded = decoder.decode_slices(data, positions, lengths)
    else:
        decoded = decoder.decode(_binary(data, positions, lengths))
    return _columns(decoded, len(lengths))


def _columns(decoded: Decoded, length: int) -> tuple[pa.Array, pa.Array]:
    return decoded.values, reason_column(decoded.reasons, length)


def _binary(data: Any, positions: Any, lengths: Any) -> pa.Array:
    content = memoryview(data)
    rows = [
        None if length < 0 else bytes(content[start : start + length])
        for start, length in zip(positions, lengths, strict=True)
    ]
    return pa.array(rows, pa.binary())


# ---------------------------------------------------------------- as text

_readers: dict[str, PinnedReader] = {}


def write_reader(reader: PinnedReader) -> str:
    """A pinned reader as text for an option."""
    return json.dumps(
        {
            "settings": list(reader.settings),
            "schema": _write_schema(reader.schema),
            "referenced": [[name, _write_schema(schema)] for name, schema in reader.referenced],
            "message": reader.message,
        }
    )


def read_reader(text: str) -> PinnedReader:
    found = _readers.get(text)
    if found is None:
        value = json.loads(text)
        found = _readers[text] = PinnedReader(
            tuple((name, setting) for name, setting in value["settings"]),
            _read_schema(value["schema"]),
            tuple((name, _read_schema(schema)) for name, schema in value["referenced"]),
            value["message"],
        )
    return found


def _write_schema(schema: Schema) -> list[Any]:
    references = [[one.name, one.subject, one.version] for one in schema.references]
    return [schema.text, schema.type, references]


def _read_schema(value: list[Any]) -> Schema:
    text, type_, references = value
    return Schema(text, type_, tuple(Reference(*one) for one in references))
