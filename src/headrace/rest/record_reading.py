"""Records of a consumer as JSON values, in the format its client asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from confluent_kafka import Message

from headrace.rest.errors import RestError
from headrace.rest.formats import binary_from_bytes, json_from_bytes
from headrace.rest.schemas import SchemaManager
from headrace.serde.errors import RegistryUnavailableError, SerdeError

_PLAIN: dict[str, Callable[[bytes | None], Any]] = {
    "binary": binary_from_bytes,
    "json": json_from_bytes,
}


class RecordReading:
    """Blocks where the registry has to be asked, so it runs in the consumer's thread."""

    def __init__(self, embedded: str, schemas: SchemaManager) -> None:
        self._plain = _PLAIN.get(embedded)
        self._key = self._value = None
        if self._plain is None:
            self._key = schemas.deserializer(is_key=True)
            self._value = schemas.deserializer(is_key=False)

    def read(self, messages: list[Message]) -> tuple[list[dict[str, Any]], RestError | None]:
        """As many of them as can be read, and why the next one cannot."""
        read = self._with_schema if self._plain is None else self._plainly
        found: list[dict[str, Any]] = []
        try:
            for message in messages:
                found.append(read(message))  # noqa: PERF401 - what was read before a failure counts
        except RestError as error:
            return found, error
        return found, None

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
