"""What records say, for `headrace dump-log`: plain keys and values, and the metadata log's JSON."""

from __future__ import annotations

import json
from typing import Any, Protocol, TypeAlias

from headrace.cli.failure import CommandFailedError
from headrace.cli.message_json import message_as_json, record_type
from headrace.protocol.errors import ProtocolError
from headrace.records.record import Record

#: Text, a JSON document, or None where there is nothing to print.
Decoded: TypeAlias = str | dict[str, Any] | None


class RecordDecoder(Protocol):
    """Says what a record's key and value are."""

    def decode(self, record: Record) -> tuple[Decoded, Decoded]: ...


class PlainDecoder:
    """Keys and values as text or numbers, by the names of Kafka's decoder classes."""

    def __init__(self, key_class: str, value_class: str) -> None:
        self._key = _plain_decoder(key_class)
        self._value = _plain_decoder(value_class)

    def decode(self, record: Record) -> tuple[Decoded, Decoded]:
        key = None if record.key is None else _decode(self._key, record.key)
        value = None if record.value is None else _decode(self._value, record.value)
        return key, value


def _plain_decoder(class_name: str) -> int:
    """The width of the number that a decoder reads, 0 for text."""
    widths = {"StringDecoder": 0, "DefaultDecoder": 0, "IntegerDecoder": 4, "LongDecoder": 8}
    name = class_name.rpartition(".")[2]
    if name not in widths:
        raise CommandFailedError(
            f"The decoder {class_name} is a Java class; there are {', '.join(widths)}."
        )
    return widths[name]


def _decode(width: int, data: bytes) -> str:
    if width:
        return str(int.from_bytes(data[:width], "big", signed=True))
    return data.decode("utf-8", "replace")


class MetadataDecoder:
    """The records of the metadata log, as JSON."""

    def decode(self, record: Record) -> tuple[Decoded, Decoded]:
        from headrace.metadata.record_codec import UnknownRecord, decode_record

        value = record.value or b""
        try:
            decoded = decode_record(value)
        except ProtocolError as error:
            return None, f"Error at {record.offset}, skipping. {error}"
        if isinstance(decoded, UnknownRecord):
            return None, f"Error at {record.offset}, skipping. Unknown record {decoded.api_key}."
        version = value[2]  # frame version, type and version are one byte each
        document = {
            "type": record_type(type(decoded)),
            "version": version,
            "data": message_as_json(decoded, version),
        }
        return None, document


def compact_json(document: object) -> str:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)
