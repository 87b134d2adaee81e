"""What every format offers: values of Python to bytes and back, and the same from JSON values.

The two views differ where JSON has no word for a type. Applications use Python's (`datetime`,
`Decimal`, `bytes`); the console and the REST proxy speak JSON, in the form each format defines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from headrace.serde.errors import SchemaError
from headrace.serde.schema import AVRO, JSON, PROTOBUF, Schema


class Codec(Protocol):
    """One schema, ready for use. Failures are `SerdeError`s that say which field it was."""

    #: The full name of the record, for subjects by record name.
    record_name: str | None

    def encode(self, value: Any) -> bytes:
        """The bytes after the schema id."""

    def decode(self, data: bytes, at: int) -> Any:
        """The value that begins at `at`."""

    def encode_json(self, value: Any) -> bytes:
        """As `encode`, from a value that was read from JSON."""

    def decode_json(self, data: bytes, at: int) -> Any:
        """As `decode`, to a value that can be written as JSON."""


def make_codec(
    schema: Schema, referenced: Mapping[str, Schema], reader: Schema | None = None
) -> Codec:
    """The codec of a schema; with `reader`, what it decodes is seen through that schema (Avro)."""
    if schema.type == AVRO:
        from headrace.serde.avro import AvroCodec

        return AvroCodec(schema, referenced, reader)
    if schema.type == JSON:
        from headrace.serde.json_schema import JsonSchemaCodec

        return JsonSchemaCodec(schema, referenced)
    if schema.type == PROTOBUF:
        from headrace.serde.protobuf import ProtobufCodec

        return ProtobufCodec(schema, referenced)
    raise SchemaError(f"The schema type {schema.type} is unknown.")
