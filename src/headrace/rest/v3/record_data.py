"""v3: what a record of a request says, checked and turned into bytes."""

from __future__ import annotations

from base64 import b64decode
from datetime import datetime
from typing import Any

import orjson

from headrace.rest.errors import (
    RestError,
    bad_request,
    invalid_payload,
)
from headrace.rest.formats import (
    ToBytes,
    binary_to_bytes,
    json_to_bytes,
    text_to_bytes,
    with_schema,
)
from headrace.rest.producing import OutgoingRecord
from headrace.rest.schemas import FORMAT_OF_TYPE
from headrace.rest.services import Services
from headrace.serde.errors import SerdeError
from headrace.serde.serializer import Writer

_PLAIN: dict[str, ToBytes] = {
    "BINARY": binary_to_bytes,
    "JSON": json_to_bytes,
    "STRING": text_to_bytes,
}
_WITH_SCHEMA = ("AVRO", "JSONSCHEMA", "PROTOBUF")
_STRATEGIES = ("TOPIC_NAME", "RECORD_NAME", "TOPIC_RECORD_NAME")
_PLAIN_INFO = {name: f'"type":"{name}"'.encode() for name in _PLAIN}
_KEY_AND_VALUE = {"key", "value"}
_TYPE_AND_DATA = {"type", "data"}
_ABOUT_SCHEMAS = ("subject", "subject_name_strategy", "schema_id", "schema_version", "schema")


#: A record, and what the answer says about its key and value.
PreparedRecord = tuple[OutgoingRecord, bytes | None, bytes | None]


class RecordPreparation:
    """For one request; what it learns about schemas holds until the request's end."""

    def __init__(self, services: Services, topic: str) -> None:
        self._services = services
        self._topic = topic
        self._writers: dict[tuple[object, ...], tuple[ToBytes, bytes]] = {}

    async def prepare_all(self, values: list[Any]) -> list[PreparedRecord | RestError]:
        prepared: list[PreparedRecord | RestError] = []
        for value in values:
            try:
                # Most records need nothing to be asked for.
                prepared.append(_plain_record(value) or await self._prepare(value))
            except RestError as error:
                prepared.append(error)
            except RecursionError:
                prepared.append(invalid_payload("A record is nested too deeply."))
        return prepared

    async def _prepare(self, value: Any) -> PreparedRecord:
        if type(value) is not dict:
            raise bad_request("Error processing JSON: a record must be a JSON object.")
        partition = value.get("partition_id")
        if partition is None:
            partition = -1
        else:
            await self._check_partition(partition)
        headers, timestamp = value.get("headers"), value.get("timestamp")
        key, key_info = await self._data(value.get("key"), True)
        data, value_info = await self._data(value.get("value"), False)
        time_ms = 0 if timestamp is None else _timestamp(timestamp)
        items = None if headers is None else _headers(headers)
        return (partition, key, data, time_ms, items), key_info, value_info

    async def _check_partition(self, partition: Any) -> None:
        if type(partition) is not int:
            raise bad_request("Error processing JSON: partition_id must be a number.")
        await self._services.topics.require_partition(self._topic, partition)

    async def _data(self, part: Any, is_key: bool) -> tuple[bytes | None, bytes | None]:
        """The bytes of a key or value, and what the answer says about them."""
        if part is None:
            return None, None
        if type(part) is not dict:
            raise bad_request("Error processing JSON: key and value must be JSON objects.")
        kind = part.get("type")
        if kind is not None and type(kind) is not str:
            raise bad_request("Error processing JSON: type must be a text.")
        _check_schema_words(part, kind)
        if kind in _PLAIN:
            return _PLAIN[kind](part.get("data")), _PLAIN_INFO[kind]
        name = (is_key, kind, *(part.get(word) for word in _ABOUT_SCHEMAS))
        found = self._writers.get(name)
        if found is None:
            writer = await self._writer(part, kind, is_key)
            found = self._writers[name] = with_schema(writer.write_json), _info(writer)
        convert, info = found
        return convert(part.get("data")), info

    async def _writer(self, part: dict[str, Any], kind: str | None, is_key: bool) -> Writer:
        schemas, topic = self._services.schemas, self._topic
        subject, strategy = part.get("subject"), part.get("subject_name_strategy")
        try:
            if part.get("schema_id") is not None:
                return await schemas.by_id(topic, is_key, part["schema_id"], subject, strategy)
            if part.get("schema_version") is not None:
                version = part["schema_version"]
                return await schemas.by_version(topic, is_key, version, subject, strategy)
            if part.get("schema") is not None and kind is not None:
                text = part["schema"]
                return await schemas.by_text(topic, is_key, kind, text, subject, strategy)
            return await schemas.latest(topic, is_key, subject, strategy)
        except SerdeError as error:
            raise bad_request(str(error)) from error


def _plain_record(value: Any) -> PreparedRecord | None:
    """A record of nothing but a plain value, and perhaps a plain key; None for all others."""
    if type(value) is not dict or not value.keys() <= _KEY_AND_VALUE:
        return None
    key, data = value.get("key"), value.get("value")
    if not (_is_plain(key) and _is_plain(data)):
        return None
    key_bytes = key_info = data_bytes = data_info = None
    if key is not None:
        key_bytes, key_info = _PLAIN[key["type"]](key["data"]), _PLAIN_INFO[key["type"]]
    if data is not None:
        data_bytes, data_info = _PLAIN[data["type"]](data["data"]), _PLAIN_INFO[data["type"]]
    return (-1, key_bytes, data_bytes, 0, None), key_info, data_info


def _is_plain(part: Any) -> bool:
    return part is None or (
        type(part) is dict and part.keys() == _TYPE_AND_DATA and str(part["type"]) in _PLAIN
    )


def _check_schema_words(part: dict[str, Any], kind: Any) -> None:
    """Which words go together, and of which type they are."""
    given = {word for word in _ABOUT_SCHEMAS if part.get(word) is not None}
    if kind is not None and kind not in _PLAIN and kind not in _WITH_SCHEMA:
        raise bad_request(f"Error processing JSON: the type {kind!r:.40} is unknown.")
    for word in ("schema_id", "schema_version"):
        if word in given and (type(part[word]) is not int or not 0 <= part[word] < 1 << 31):
            raise bad_request(f"Error processing JSON: {word} must be a number.")
    for word in ("subject", "subject_name_strategy", "schema"):
        if word in given and type(part[word]) is not str:
            raise bad_request(f"Error processing JSON: {word} must be a text.")
    if {"subject", "subject_name_strategy"} <= given:
        raise bad_request("Only one of 'subject_name_strategy' or 'subject' can be used.")
    if "subject_name_strategy" in given and part["subject_name_strategy"] not in _STRATEGIES:
        raise bad_request(f"subject_name_strategy must be one of {', '.join(_STRATEGIES)}.")
    if len(given & {"schema_id", "schema_version", "schema"}) > 1:
        raise bad_request("Only one of 'schema_id', 'schema_version' or 'schema' can be used.")
    if kind in _PLAIN and given:
        raise bad_request(f"'type={kind}' cannot be used with '{min(given)}'.")
    if kind in _WITH_SCHEMA and "schema" not in given:
        raise bad_request(f"'type={kind}' needs the text of a schema in 'schema'.")
    if kind is None and "schema" in given:
        raise bad_request("'schema' needs a 'type': AVRO, JSONSCHEMA or PROTOBUF.")


def _info(writer: Writer) -> bytes:
    registered = writer.registered
    described = {
        "type": FORMAT_OF_TYPE[registered.schema.type],
        "subject": registered.subject,
        "schema_id": registered.id,
        "schema_version": registered.version,
    }
    return orjson.dumps(described)[1:-1]


def _headers(items: Any) -> list[tuple[str, str | bytes | None]]:
    if not isinstance(items, list):
        raise bad_request("Error processing JSON: headers must be a list.")
    headers: list[tuple[str, str | bytes | None]] = []
    for item in items:
        if not isinstance(item, dict) or not isinstance(item.get("name"), str):
            raise bad_request("Error processing JSON: a header needs a name.")
        value = item.get("value")
        try:
            headers.append((item["name"], None if value is None else b64decode(value)))
        except (TypeError, ValueError):
            raise bad_request(
                "Error processing JSON: the value of a header must be in base64."
            ) from None
    return headers


def _timestamp(value: Any) -> int:
    try:
        if type(value) is int and 0 < value < 1 << 62:
            return value
        moment = datetime.fromisoformat(value).timestamp()
        if moment <= 0:
            raise ValueError("before 1970")
        return int(moment * 1000)
    except (TypeError, ValueError, OverflowError):
        raise bad_request(
            "Error processing JSON: timestamp must be a time like 2026-01-31T12:00:00Z."
        ) from None
