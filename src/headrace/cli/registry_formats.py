"""Records with schemas in the console tools, as Confluent's kafka-avro-console-* and siblings do.

The consumer prints what the registry's schemas say as JSON; the producer reads a JSON value a line
and writes it with a schema. What needs no registry does not import any of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from headrace.cli.failure import CommandFailedError
from headrace.cli.line_reader import LineReader, LineRecord
from headrace.cli.record_format import DefaultFormat
from headrace.client.fetched import FetchedBatch
from headrace.records.record import Header, Record

if TYPE_CHECKING:
    from headrace.serde.deserializer import Deserializer
    from headrace.serde.registry_client import RegistryClient
    from headrace.serde.serializer import Serializer

_URL = "schema.registry.url"
_SHORT = {"avro": "AVRO", "jsonschema": "JSON", "protobuf": "PROTOBUF"}
_FORMATTERS = (
    "AvroMessageFormatter",
    "JsonSchemaMessageFormatter",
    "ProtobufMessageFormatter",
    *_SHORT,
)
_READERS = {
    "AvroMessageReader": "AVRO",
    "JsonSchemaMessageReader": "JSON",
    "ProtobufMessageReader": "PROTOBUF",
    **_SHORT,
}
_DESERIALIZERS = (
    "KafkaAvroDeserializer",
    "KafkaJsonSchemaDeserializer",
    "KafkaProtobufDeserializer",
    *_SHORT,
)


def open_registry(properties: Mapping[str, str]) -> RegistryClient:
    if not properties.get(_URL):
        raise CommandFailedError(f"Schemas need --property {_URL}=http://host:8081.")
    try:
        from headrace.serde.registry_client import RegistryClient
    except ImportError as error:
        raise CommandFailedError(
            f"Schemas need packages that are not installed ({error.name});"
            " `pip install headrace[serde]` brings them."
        ) from error
    return RegistryClient.from_settings(properties)


# ---------------------------------------------------------------- printing


def is_registry_format(formatter: str, properties: Mapping[str, str]) -> bool:
    name = formatter.rpartition(".")[2]
    is_default = name == "DefaultMessageFormatter"
    named = (properties.get(f"{part}.deserializer") for part in ("key", "value"))
    return name in _FORMATTERS or (
        is_default and (_URL in properties or any(_is_deserializer(one) for one in named))
    )


def _is_deserializer(name: str | None) -> bool:
    return name is not None and name.rpartition(".")[2] in _DESERIALIZERS


class RegistryFormat(DefaultFormat):
    """The default columns, with the value, and the key where asked for, decoded to JSON."""

    def __init__(self, formatter: str, properties: Mapping[str, str]) -> None:
        plain = {
            name: value
            for name, value in properties.items()
            if not (name.endswith(".deserializer") and _is_deserializer(value))
        }
        super().__init__(plain)
        registry = open_registry(properties)
        has_keys = formatter.rpartition(".")[2] in _FORMATTERS
        key, value = properties.get("key.deserializer"), properties.get("value.deserializer")
        self._record_headers: Sequence[Header] = ()
        if _is_deserializer(key) or (has_keys and key is None):
            self._read_key = self._reading(registry, is_key=True)
        if _is_deserializer(value) or value is None:
            self._read_value = self._reading(registry, is_key=False)

    def __call__(self, batch: FetchedBatch, record: Record) -> bytes:
        self._record_headers = record.headers
        return super().__call__(batch, record)

    def _reading(self, registry: RegistryClient, *, is_key: bool) -> Callable[[bytes], bytes]:
        from headrace.serde.deserializer import Deserializer

        read: Deserializer = Deserializer(registry, is_key=is_key)

        def to_line(data: bytes) -> bytes:
            value = read.to_json(bytes(data), self._record_headers)
            return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()

        return to_line


# ---------------------------------------------------------------- reading lines


def is_registry_reader(line_reader: str, properties: Mapping[str, str]) -> bool:
    return line_reader.rpartition(".")[2] in _READERS or any(
        f"{part}.schema{kind}" in properties
        for part in ("key", "value")
        for kind in ("", ".id", ".file")
    )


class RegistryLineReader(LineReader):
    """Lines whose values, and keys if they have a schema, are JSON to be written with it."""

    def __init__(self, line_reader: str, properties: Mapping[str, str], topic: str) -> None:
        super().__init__(properties)
        self._topic = topic
        kind = _READERS.get(line_reader.rpartition(".")[2], "AVRO")
        registry = open_registry(properties)
        self._write_key = _serializer(registry, properties, kind, is_key=True)
        self._write_value = _serializer(registry, properties, kind, is_key=False)
        if self._write_value is None and line_reader.rpartition(".")[2] in _READERS:
            raise CommandFailedError("--property value.schema or value.schema.id is missing.")

    def parse(self, line: bytes) -> LineRecord:
        record = super().parse(line)
        record.key = self._written(self._write_key, record.key)
        record.value = self._written(self._write_value, record.value)
        return record

    def _written(self, write: Serializer | None, text: bytes | None) -> bytes | None:
        if write is None or text is None:
            return text
        try:
            return write.writer(self._topic).write_json(json.loads(text))
        except ValueError as error:
            shown = text.decode("utf-8", "replace")
            raise CommandFailedError(f"'{shown[:80]}' cannot be sent: {error}") from error


def _serializer(
    registry: RegistryClient, properties: Mapping[str, str], kind: str, *, is_key: bool
) -> Serializer | None:
    from headrace.serde.schema import Reference, Schema
    from headrace.serde.serializer import Serializer, SerializerConfig
    from headrace.serde.subjects import find_strategy

    part = "key" if is_key else "value"
    text = properties.get(f"{part}.schema")
    path, schema_id = properties.get(f"{part}.schema.file"), properties.get(f"{part}.schema.id")
    if path:
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except OSError as error:
            raise CommandFailedError(f"{path}: {error.strerror}") from error
    if text is None and schema_id is None:
        return None
    try:
        references = tuple(
            Reference(one["name"], one["subject"], int(one["version"]))
            for one in json.loads(properties.get(f"{part}.refs", "[]"))
        )
        config = SerializerConfig(
            auto_register=properties.get("auto.register", "true").lower() != "false",
            normalize=properties.get("normalize.schemas", "false").lower() == "true",
            use_schema_id=int(schema_id) if schema_id else None,
            strategy=find_strategy(
                properties.get(f"{part}.subject.name.strategy", "TopicNameStrategy")
            ),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CommandFailedError(
            f"The properties of the {part}'s schema are wrong: {error}"
        ) from error
    schema = None if text is None or schema_id else Schema(text, kind, references)
    return Serializer(registry, schema, config, is_key=is_key)
