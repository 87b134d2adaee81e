"""Records of a consumer as JSON values, in the format its client asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import orjson
from confluent_kafka import Message

from headrace.rest.errors import RestError
from headrace.rest.formats import binary_from_bytes, json_from_bytes
from headrace.rest.schemas import SchemaManager
from headrace.serde.errors import RegistryUnavailableError, SerdeError

_PLAIN: dict[str, Callable[[bytes | None], Any]] = {
    "binary": binary_from_bytes,
    "json": json_from_bytes,
}


class ReadRecords(NamedTuple):
    """The records as JSON, how many they are, and what keeps the next one from being read."""

    body: bytes
    number: int
    failure: RestError | None


class RecordReading:
    """Blocks where the registry has to be asked, so it runs in the consumer's thread."""

    def __init__(self, embedded: str, schemas: SchemaManager) -> None:
        self._plain = _PLAIN.get(embedded)
        self._key = self._value = None
        if self._plain is None:
            self._key = schemas.deserializer(is_key=True)
            self._value = schemas.deserializer(is_key=False)

    def read(self, messages: list[Message]) -> ReadRecords:
        """As many of them as can be read, and why the next one cannot."""
        read = self._with_schema if self._plain is None else self._plainly
        found: list[dict[str, Any]] = []
        failure = None
        try:
            for message in messages:
                found.append(read(message))  # noqa: PERF401 - what was read before a failure counts
        except RestError as error:
            failure = error
        try:
            return ReadRecords(orjson.dumps(found), len(found), failure)
        except TypeError:
            return _as_far_as_json_goes(found)

    def _plainly(self, message: Message) -> dict[str, Any]:
        plain = self._plain or binary_from_bytes
        return {
            "topic": message.topic(),
            "key": plain(message.key()),
            "value": plain(message.value()),
            "partition": message.partition(),
            "offset": message.offset(),
        }

    def _with_schema(self, message: Message) -> dict[str, Any]:
        if self._key is None or self._value is None:
            raise RestError(500, 500, "The format needs no schema.")
        headers: Any = message.headers()
        try:
            key = self._key.to_json(message.key(), headers)
            value = self._value.to_json(message.value(), headers)
        except RegistryUnavailableError as error:
            raise RestError(408, 40801, str(error)) from error
        except SerdeError as error:
            where = f"{message.topic()}-{message.partition()} at offset {message.offset()}"
            raise RestError(500, 50002, f"Kafka error: the record of {where}: {error}") from error
        return {
            "topic": message.topic(),
            "key": key,
            "value": value,
            "partition": message.partition(),
            "offset": message.offset(),
        }


def _as_far_as_json_goes(found: list[dict[str, Any]]) -> ReadRecords:
    """A value may be deeper than JSON is written here; those before it are for the client."""
    pieces: list[bytes] = []
    for one in found:
        try:
            pieces.append(orjson.dumps(one))
        except TypeError as error:
            where = f"{one['topic']}-{one['partition']} at offset {one['offset']}"
            reason = f"Kafka error: the record of {where} cannot be shown as JSON: {error}"
            return ReadRecords(_list(pieces), len(pieces), RestError(500, 50002, reason))
    return ReadRecords(_list(pieces), len(pieces), None)


def _list(pieces: list[bytes]) -> bytes:
    return b"[%b]" % b",".join(pieces)
