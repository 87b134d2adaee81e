"""The formatters of Kafka's console consumer for the topics that coordinators keep.

One JSON document per record of the wanted kind. Kafka's own print no line break between them;
a document per line reads the same to a JSON parser and better to everything else.
"""

from __future__ import annotations

import json
from types import ModuleType

from headrace.cli.message_json import message_as_json
from headrace.client.fetched import FetchedBatch
from headrace.protocol.compiler import read
from headrace.protocol.coordinator_record import CoordinatorRecord
from headrace.protocol.errors import ProtocolError
from headrace.records.record import Record

#: The record types that each formatter prints.
_OFFSET_COMMITS = (0, 1)
_GROUP_METADATA = (2,)
_TRANSACTIONS = (0,)

FORMATTERS = (
    "OffsetsMessageFormatter",
    "GroupMetadataMessageFormatter",
    "TransactionLogMessageFormatter",
)


class CoordinatorFormat:
    """Prints the records of some types, and nothing for others."""

    def __init__(self, definitions: ModuleType, types: tuple[int, ...]) -> None:
        self._keys: dict[int, type[CoordinatorRecord]] = {}
        self._values: dict[int, type[CoordinatorRecord]] = {}
        for name, cls in vars(definitions).items():
            if not isinstance(cls, type) or not issubclass(cls, CoordinatorRecord):
                continue
            if cls is not CoordinatorRecord and cls.record_type in types:
                table = self._keys if name.endswith("Key") else self._values
                table[cls.record_type] = cls

    def __call__(self, _batch: FetchedBatch, record: Record) -> bytes:
        if record.key is None:
            return b""
        kind = int.from_bytes(record.key[:2], "big", signed=True)
        if kind not in self._keys:
            return b""
        try:
            document = {
                "key": {"type": kind, "data": _json(self._keys[kind], 0, record.key)},
                "value": self._value(kind, record.value),
            }
        except ProtocolError as error:
            raise ValueError(
                f"Could not read record at offset {record.offset} due to: {error}"
            ) from error
        text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
        return text.encode() + b"\n"

    def _value(self, kind: int, value: bytes | None) -> dict[str, object] | None:
        if value is None:
            return None
        version = int.from_bytes(value[:2], "big", signed=True)
        return {"version": version, "data": _json(self._values[kind], version, value)}


def _json(cls: type[CoordinatorRecord], version: int, data: bytes) -> dict[str, object]:
    return message_as_json(read(cls, version, data, 2)[0], version)


def coordinator_format(name: str) -> CoordinatorFormat:
    """The formatter of that class name, one of `FORMATTERS`."""
    if name == "TransactionLogMessageFormatter":
        from headrace.transactions import records as transaction_records

        return CoordinatorFormat(transaction_records, _TRANSACTIONS)
    from headrace.groups import records as group_records

    is_offsets = name == "OffsetsMessageFormatter"
    return CoordinatorFormat(group_records, _OFFSET_COMMITS if is_offsets else _GROUP_METADATA)
