"""The records of coordinators for `headrace dump-log`: offsets, groups and transactions as JSON."""

from __future__ import annotations

import base64
from types import ModuleType
from typing import Any

from headrace.cli.dump_decoders import Decoded
from headrace.cli.failure import CommandFailedError
from headrace.cli.message_json import message_as_json
from headrace.protocol import embedded
from headrace.protocol.compiler import read
from headrace.protocol.coordinator_record import CoordinatorRecord
from headrace.protocol.errors import ProtocolError
from headrace.protocol.schema import Message
from headrace.records.record import Record

_DELETED = "<DELETE>"
_BASE = CoordinatorRecord.__name__


class CoordinatorDecoder:
    """Decodes keys and values by the type that stands in front of each key."""

    def __init__(self, definitions: ModuleType, topic: str) -> None:
        self._topic = topic
        self._keys: dict[int, type[CoordinatorRecord]] = {}
        self._values: dict[int, type[CoordinatorRecord]] = {}
        for name, cls in vars(definitions).items():
            if isinstance(cls, type) and issubclass(cls, CoordinatorRecord) and name != _BASE:
                table = self._keys if name.endswith("Key") else self._values
                table[cls.record_type] = cls

    def decode(self, record: Record) -> tuple[Decoded, Decoded]:
        if record.key is None:
            raise CommandFailedError(
                f"Failed to decode message at offset {record.offset} using {self._topic} decoder"
                " (message had a missing key)"
            )
        kind = int.from_bytes(record.key[:2], "big", signed=True)
        if kind not in self._keys:
            return f"Unknown record type {kind} at offset {record.offset}, skipping.", None
        try:
            key = message_as_json(_read(self._keys[kind], 0, record.key), 0)
            return {"type": str(kind), "data": key}, self._value(kind, record.value)
        except ProtocolError as error:
            return f"Error at offset {record.offset}, skipping. {error}", None

    def _value(self, kind: int, value: bytes | None) -> Decoded:
        if value is None:
            return _DELETED
        version = int.from_bytes(value[:2], "big", signed=True)
        data = message_as_json(_read(self._values[kind], version, value), version)
        _open_consumer_protocol(data)
        return {"version": str(version), "data": data}


def offsets_decoder() -> CoordinatorDecoder:
    from headrace.groups import records

    return CoordinatorDecoder(records, "offset topic")


def transactions_decoder() -> CoordinatorDecoder:
    from headrace.transactions import records

    return CoordinatorDecoder(records, "transaction log")


def _read(cls: type[CoordinatorRecord], version: int, data: bytes) -> CoordinatorRecord:
    return read(cls, version, data, 2)[0]


def _open_consumer_protocol(data: dict[str, Any]) -> None:
    """What consumers say to one another is bytes to a broker, but readable for us."""
    if data.get("protocolType") != "consumer":
        return
    for member in data.get("members", []):
        for name, cls in (
            ("subscription", embedded.ConsumerProtocolSubscription),
            ("assignment", embedded.ConsumerProtocolAssignment),
        ):
            member[name] = _opened(cls, member[name])


def _opened(cls: type[Message], text: str) -> object:
    raw = base64.b64decode(text)
    version = int.from_bytes(raw[:2], "big", signed=True)
    try:
        message, _ = read(cls, version, raw, 2)
    except ProtocolError:
        return text
    return message_as_json(message, version)
