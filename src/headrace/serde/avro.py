"""Avro, through fastavro."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from io import BytesIO
from typing import Any

from fastavro import parse_schema, schemaless_reader, schemaless_writer
from fastavro.validation import ValidationError, validate

from headrace.serde.avro_json_reading import avro_from_json
from headrace.serde.avro_json_writing import avro_to_json
from headrace.serde.avro_limits import find_check
from headrace.serde.errors import SchemaError, SerdeError
from headrace.serde.schema import Schema

_NESTING_MAX = 200
#: Longer values are cut in a message.
_SHOWN_MAX = 60


class AvroCodec:
    """A writer's schema and, if evolution is wanted, the reader's."""

    def __init__(
        self, schema: Schema, referenced: Mapping[str, Schema], reader: Schema | None = None
    ) -> None:
        self._text = schema.text
        self._referenced = [target.text for target in referenced.values()]
        self._schema, self._named = _parse(self._text, self._referenced)
        self._reader = None if reader is None else _parse(reader.text, self._referenced)[0]
        self.record_name = _record_name(self._schema)
        try:
            self._from_json = avro_from_json(self._schema, self._named)
            self._check = find_check(self._schema, self._named)
        except (KeyError, TypeError) as error:
            raise SchemaError(f"The Avro schema is invalid: {error} is missing.") from error
        except RecursionError:
            raise SchemaError("The records of the Avro schema are nested too deeply.") from None

    # ---------------------------------------------------------------- values of Python

    def encode(self, value: Any) -> bytes:
        try:
            # The writer itself lets numbers pass that do not fit an int.
            validate(value, self._schema, raise_errors=True)
            return self._write(value)
        except SerdeError:
            raise
        except ValidationError as error:
            raise SerdeError(_misfit(error)) from error
        except Exception as error:
            raise SerdeError(f"The value does not fit its schema: {error}.") from error

    def decode(self, data: bytes, at: int = 0) -> Any:
        if self._check is not None:
            self._check(data, at)
        stream = BytesIO(data)
        stream.seek(at)
        try:
            return schemaless_reader(stream, self._schema, self._reader)
        except Exception as error:
            raise SerdeError(f"The data is not Avro of its schema: {_reason(error)}.") from error

    def _write(self, value: Any) -> bytes:
        stream = BytesIO()
        schemaless_writer(stream, self._schema, value)
        return stream.getvalue()

    # ---------------------------------------------------------------- Avro's JSON encoding

    def encode_json(self, value: Any) -> bytes:
        try:
            return self._write(self._from_json(value, ""))
        except SerdeError:
            raise
        except Exception as error:
            raise SerdeError(f"The value does not fit its schema: {error}.") from error

    def decode_json(self, data: bytes, at: int = 0) -> Any:
        plain, reader, convert = self._plain
        if self._check is not None:
            self._check(data, at)
        stream = BytesIO(data)
        stream.seek(at)
        try:
            value = schemaless_reader(stream, plain, reader, return_named_type=True)
        except Exception as error:
            raise SerdeError(f"The data is not Avro of its schema: {_reason(error)}.") from error
        try:
            return value if convert is None else convert(value)
        except RecursionError:
            raise SerdeError("The data is nested too deeply to be shown as JSON.") from None

    @cached_property
    def _plain(self) -> tuple[Any, Any, Callable[[Any], Any] | None]:
        """The schema without logical types: JSON shows what lies below them."""
        texts = [json.dumps(_without_logical(json.loads(text))) for text in self._referenced]
        plain, named = _parse(json.dumps(_without_logical(_load(self._text))), texts)
        if self._reader is None:
            return plain, None, avro_to_json(plain, named)
        reader, named = _parse(json.dumps(_without_logical(self._reader)), texts)
        return plain, reader, avro_to_json(reader, named)


def _parse(text: str, referenced: list[str]) -> tuple[Any, dict[str, Any]]:
    named: dict[str, Any] = {}
    try:
        for other in referenced:
            parse_schema(_load(other), named_schemas=named)
        return parse_schema(_load(text), named_schemas=named), named
    except SerdeError:
        raise
    except Exception as error:
        raise SchemaError(f"The Avro schema is invalid: {_reason(error)}.") from error


def _load(text: str) -> Any:
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        # A bare name is a schema too, with or without quotes.
        if text.strip().isidentifier():
            return text.strip()
        raise SchemaError(f"The Avro schema is no JSON: {error}.") from error
    _check_nesting(schema, 0)
    return schema


def _check_nesting(node: Any, depth: int) -> None:
    if depth > _NESTING_MAX:
        raise SchemaError(f"The Avro schema is nested deeper than {_NESTING_MAX} levels.")
    if isinstance(node, dict):
        for value in node.values():
            _check_nesting(value, depth + 1)
    elif isinstance(node, list):
        for value in node:
            _check_nesting(value, depth + 1)


def _without_logical(node: Any) -> Any:
    if isinstance(node, dict):
        return {
            key: value if key == "default" else _without_logical(value)
            for key, value in node.items()
            if key != "logicalType" and not key.startswith("__")
        }
    if isinstance(node, list):
        return [_without_logical(value) for value in node]
    return node


def _record_name(schema: Any) -> str | None:
    if isinstance(schema, dict):
        return schema.get("name") or str(schema.get("type"))
    return str(schema) if isinstance(schema, str) else None


def _misfit(error: ValidationError) -> str:
    """Which field, what it holds, what it should hold."""
    first = error.errors[0]
    if isinstance(first, str):
        return f"The value does not fit its schema: {first}."
    shown = repr(first.datum)
    shown = shown if len(shown) <= _SHOWN_MAX else f"{shown[:_SHOWN_MAX]}…"
    where = f"field {first.field} holds" if first.field else "it is"
    return f"The value does not fit its schema: {where} {shown}, not {_type_name(first.schema)}."


def _type_name(schema: Any) -> str:
    if isinstance(schema, list):
        return "one of " + ", ".join(_type_name(branch) for branch in schema)
    if isinstance(schema, dict):
        kind = str(schema.get("type"))
        return f"{kind} {schema['name']}" if "name" in schema else kind
    return str(schema)


def _reason(error: Exception) -> str:
    return str(error).rstrip(".") or type(error).__name__
