"""v2: records of one request to a topic, or to one of its partitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
from confluent_kafka import KafkaError
from starlette.requests import Request
from starlette.responses import Response

from headrace.rest.bodies import V2, V2_TYPES, answer_type, content_type, parse_json, read_body
from headrace.rest.errors import (
    RestError,
    conversion_failed,
    invalid,
    invalid_payload,
    key_schema_missing,
    partition_not_found,
    unsupported_media_type,
    value_schema_missing,
)
from headrace.rest.formats import (
    SCHEMA_FORMATS,
    ToBytes,
    binary_to_bytes,
    json_to_bytes,
    with_schema,
)
from headrace.rest.kafka_errors import record_code
from headrace.rest.producing import Delivery, OutgoingRecord
from headrace.rest.services import Services
from headrace.serde.serializer import Writer

_PLAIN: dict[str, ToBytes] = {"binary": binary_to_bytes, "json": json_to_bytes}
_FORMATS = {"avro": "AVRO", "jsonschema": "JSONSCHEMA", "protobuf": "PROTOBUF"}


async def produce(request: Request) -> Response:
    """POST /topics/{topic} and POST /topics/{topic}/partitions/{partition}."""
    services: Services = request.app.state.services
    media_type = answer_type(request, V2, "application/json", *V2_TYPES)
    kind = content_type(request)
    embedded = V2_TYPES.get(kind) or ("binary" if kind == V2 else None)
    if embedded is None:
        raise unsupported_media_type()
    topic = request.path_params["topic"]
    partition = _partition(request.path_params.get("partition"))
    body = parse_body(await read_body(request, services.config.body_max_bytes))
    count = await services.topics.require(topic)
    if partition >= count:
        raise partition_not_found()
    key_writer = await _writer(services, topic, embedded, body, "key")
    value_writer = await _writer(services, topic, embedded, body, "value")
    records = _records(body["records"], embedded, partition, count, key_writer, value_writer)
    deliveries = await services.sender.send(topic, records)
    return Response(
        _answer(deliveries, key_writer, value_writer), _status(deliveries), media_type=media_type
    )


def parse_body(data: bytes) -> dict[str, Any]:
    if not data.strip():
        raise invalid_payload("Request body is empty. Data is required.")
    body = parse_json(data)
    if not isinstance(body, dict) or not isinstance(body.get("records"), list):
        raise invalid("records may not be null")
    if not body["records"]:
        raise invalid("records may not be empty")
    return body


def _partition(text: str | None) -> int:
    if text is None:
        return -1
    if not text.isdecimal() or len(text) > 9:
        raise partition_not_found()
    return int(text)


async def _writer(
    services: Services, topic: str, embedded: str, body: dict[str, Any], part: str
) -> Writer | None:
    """The schema that the request names for its keys or values, if the format takes one."""
    if embedded not in SCHEMA_FORMATS:
        return None
    text, schema_id = body.get(f"{part}_schema"), body.get(f"{part}_schema_id")
    is_key = part == "key"
    if schema_id is not None:
        if type(schema_id) is not int or not 0 <= schema_id < 1 << 31:
            raise invalid(f"{part}_schema_id must be the id of a schema")
        return await services.schemas.by_id(topic, is_key, schema_id, None, None)
    if text is None:
        return None
    if not isinstance(text, str):
        raise invalid(f"{part}_schema must be a text")
    return await services.schemas.by_text(topic, is_key, _FORMATS[embedded], text, None, None)


def _records(
    items: list[Any],
    embedded: str,
    partition: int,
    count: int,
    key_writer: Writer | None,
    value_writer: Writer | None,
) -> list[OutgoingRecord]:
    """All of them or none: nothing is sent of a request with one bad record in it."""
    plain = _PLAIN.get(embedded)
    read_key = plain or _reader(key_writer, key_schema_missing)
    read_value = plain or _reader(value_writer, value_schema_missing)
    records: list[OutgoingRecord] = []
    try:
        for item in items:
            if type(item) is not dict:
                raise invalid("records must be JSON objects")
            key, value, place = item.get("key"), item.get("value"), item.get("partition")
            if place is None:
                place = partition
            elif type(place) is not int:
                raise invalid("partition must be a whole number")
            elif not 0 <= place < count:
                raise partition_not_found()
            if key is not None:
                key = read_key(key)
            records.append((place, key, None if value is None else read_value(value), 0, None))
    except RecursionError:
        raise conversion_failed("it is nested too deeply") from None
    return records


def _reader(writer: Writer | None, missing: Callable[[], RestError]) -> ToBytes:
    if writer is not None:
        return with_schema(writer.write_json)

    def refuse(_value: Any) -> bytes | None:
        raise missing()

    return refuse


def _answer(
    deliveries: list[Delivery], key_writer: Writer | None, value_writer: Writer | None
) -> bytes:
    offsets = b",".join(
        b'{"partition":%d,"offset":%d,"error_code":null,"error":null}' % (partition, offset)
        if error is None
        else _failed(error)
        for partition, offset, _, error in deliveries
    )
    return b'{"offsets":[%b],"key_schema_id":%b,"value_schema_id":%b}' % (
        offsets,
        _schema_id(key_writer),
        _schema_id(value_writer),
    )


def _status(deliveries: list[Delivery]) -> int:
    """200 whatever became of the records, unless the client may not write them."""
    failures = (record_code(error)[0] for _, _, _, error in deliveries if error is not None)
    return next((status for status in failures if status != 200), 200)


def _failed(error: KafkaError) -> bytes:
    _, code = record_code(error)
    told = {"partition": None, "offset": None, "error_code": code, "error": error.str()}
    return orjson.dumps(told)


def _schema_id(writer: Writer | None) -> bytes:
    return b"null" if writer is None else b"%d" % writer.registered.id
