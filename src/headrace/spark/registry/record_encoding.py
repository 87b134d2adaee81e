"""JSON and Protobuf from rows, record by record, in Python.

Both are written from JSON values. Fields that are null are left out, as Spark's `to_json` leaves
them out: neither format has another word for a field that is not there.
"""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from headrace.serde.avro_columns.decoder import Decoded
from headrace.serde.codec import Codec, make_codec
from headrace.serde.errors import SerdeError
from headrace.serde.protobuf import ProtobufCodec
from headrace.serde.schema import PROTOBUF
from headrace.serde.wire import prefix
from headrace.spark.registry.encoding import PinnedWriter


class RecordColumnEncoder:
    """Writes a column one record after the other."""

    def __init__(self, writer: PinnedWriter) -> None:
        referenced = dict(writer.referenced)
        self._codec: Codec = (
            ProtobufCodec(writer.schema, referenced, writer.message)
            if writer.schema.type == PROTOBUF
            else make_codec(writer.schema, referenced)
        )
        self._prefix = prefix(writer.schema_id)

    def encode(self, column: pa.Array) -> Decoded:
        values: list[bytes | None] = []
        reasons: dict[int, str] = {}
        to_json = _converter(column.type)
        for row, value in enumerate(column.to_pylist()):
            data = None
            if value is not None:
                try:
                    data = self._prefix + self._codec.encode_json(to_json(value))
                except SerdeError as error:
                    reasons[row] = str(error)
            values.append(data)
        return Decoded(pa.array(values, pa.binary()), reasons)


def _converter(kind: pa.DataType) -> Any:
    """From Arrow's values of Python to those of JSON."""
    if pa.types.is_struct(kind):
        fields = [(one.name, _converter(one.type)) for one in kind]
        return lambda value: {
            name: convert(value[name]) for name, convert in fields if value[name] is not None
        }
    if pa.types.is_map(kind):
        inner = _converter(kind.item_type)
        return lambda value: {str(key): None if one is None else inner(one) for key, one in value}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = _converter(kind.value_type)
        return lambda value: [None if one is None else inner(one) for one in value]
    return _scalar


def _scalar(value: Any) -> Any:
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"{value.total_seconds():.6f}s"
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value
