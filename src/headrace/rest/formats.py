"""Keys and values as JSON carries them: binary in base64, plain JSON, and text."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable
from typing import Any

import orjson

from headrace.rest.errors import RestError, conversion_failed
from headrace.serde.errors import SerdeError
from headrace.serde.schema import AVRO, JSON, PROTOBUF

#: Embedded formats that need a schema, and the schema type each one needs.
SCHEMA_FORMATS = {"avro": AVRO, "jsonschema": JSON, "protobuf": PROTOBUF}

ToBytes = Callable[[Any], bytes | None]


def binary_to_bytes(value: Any) -> bytes | None:
    if value is None:
        return None
    try:
        return b64decode(value, validate=True)
    except (Base64Error, ValueError, TypeError):
        raise conversion_failed("binary data must be a text in base64.") from None


def json_to_bytes(value: Any) -> bytes | None:
    if value is None:
        return None
    try:
        return orjson.dumps(value)
    except TypeError:
        # Integers beyond 64 bits.
        return json.dumps(value, separators=(",", ":")).encode()


def text_to_bytes(value: Any) -> bytes | None:
    if value is None or isinstance(value, str):
        return None if value is None else value.encode()
    raise conversion_failed("the data of type STRING must be a text.")


def with_schema(write: Callable[[Any], bytes]) -> ToBytes:
    """A writer of the registry's, whose complaints become the API's."""

    def convert(value: Any) -> bytes | None:
        if value is None:
            return None
        try:
            return write(value)
        except SerdeError as error:
            raise conversion_failed(str(error)) from error

    return convert


def binary_from_bytes(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()


def json_from_bytes(data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        return orjson.loads(data)
    except ValueError as error:
        raise RestError(
            500, 50002, f"Kafka error: a record holds no JSON ({error}); read it as binary."
        ) from error
