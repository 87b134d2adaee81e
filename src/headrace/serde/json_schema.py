"""JSON Schema: the data is JSON, and its schema says what may be in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import jsonschema_rs
import orjson

from headrace.serde.errors import SchemaError, SerdeError
from headrace.serde.schema import Schema

#: Where names that are no addresses are resolved; the validator's own base.
_BASE = "json-schema:///"


class JsonSchemaCodec:
    """Validates what it writes. What it reads was validated by whoever wrote it."""

    def __init__(self, schema: Schema, referenced: Mapping[str, Schema]) -> None:
        document = _load(schema.text)
        self.record_name: str | None = document.get("title") if isinstance(document, dict) else None
        self._validator = _validator(document, referenced)

    def encode(self, value: Any) -> bytes:
        try:
            data = orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_SUBCLASS)
        except (TypeError, ValueError) as error:
            raise SerdeError(f"The value cannot be written as JSON: {error}.") from error
        self.check(value)
        return data

    def decode(self, data: bytes, at: int = 0) -> Any:
        try:
            return orjson.loads(memoryview(data)[at:])
        except ValueError as error:
            raise SerdeError(f"The data is not JSON: {error}.") from error

    encode_json = encode
    decode_json = decode

    def check(self, value: Any) -> None:
        """`SerdeError` if the value does not fit the schema."""
        try:
            self._validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            path = ".".join(str(part) for part in error.instance_path)
            where = f"field {path}: " if path else ""
            message = error.message if len(error.message) <= 300 else f"{error.message[:300]}…"
            raise SerdeError(f"The value does not fit its schema: {where}{message}.") from error
        except ValueError as error:
            raise SerdeError(f"The value cannot be checked: {error}.") from error


def _validator(document: Any, referenced: Mapping[str, Schema]) -> Any:
    documents = {name: _load(schema.text) for name, schema in referenced.items()}

    def retrieve(uri: str) -> Any:
        plain = uri.removeprefix(_BASE)
        for name in (uri, plain, plain.rpartition("/")[2]):
            if name in documents:
                return documents[name]
        raise ValueError(f"the reference {uri} is not registered")

    has_draft = isinstance(document, dict) and "$schema" in document
    make = jsonschema_rs.validator_for if has_draft else jsonschema_rs.Draft7Validator
    try:
        return make(document, retriever=retrieve)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        message = getattr(error, "message", None) or str(error)
        raise SchemaError(f"The JSON schema is invalid: {message}.") from error


def _load(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"The JSON schema is no JSON: {error}.") from error
