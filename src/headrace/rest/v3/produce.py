"""v3: records streamed in one request, and an answer for each of them streamed back.

POST /v3/clusters/{cluster_id}/topics/{topic_name}/records

While one part of the stream waits for Kafka the next is read and handed over; the answers keep the
order of the records.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from headrace.rest.bodies import JSON, answer_type, content_type
from headrace.rest.errors import (
    RestError,
    bad_request,
    invalid_payload,
    unsupported_media_type,
)
from headrace.rest.kafka_errors import from_kafka
from headrace.rest.producing import Delivery
from headrace.rest.services import Services
from headrace.rest.streamed_answer import StreamedAnswer
from headrace.rest.v3.record_data import PreparedRecord, RecordPreparation
from headrace.rest.v3.record_stream import BadRecordStream, RecordStream

#: So many parts of a stream may wait for Kafka before more of it is read.
_PARTS_MAX = 16
_END = b"\r\n"


async def produce(request: Request) -> Response:
    services: Services = request.app.state.services
    answer_type(request, JSON)
    if content_type(request) not in ("", JSON):
        raise unsupported_media_type()
    cluster_id, topic = request.path_params["cluster_id"], request.path_params["topic_name"]
    await services.require_cluster(cluster_id)
    await services.topics.require(topic)
    if request.headers.get("content-length") == "0":
        raise invalid_payload("Request body is empty. Data is required.")
    stream = _Stream(services, cluster_id, topic)
    return StreamedAnswer(stream.answers(request), JSON)


class _Part(NamedTuple):
    """Records that were handed over together."""

    prepared: list[PreparedRecord | RestError]
    deliveries: asyncio.Future[list[Delivery]]


class _Stream:
    def __init__(self, services: Services, cluster_id: str, topic: str) -> None:
        self._services = services
        self._cluster_id = cluster_id
        self._topic = topic
        self._preparation = RecordPreparation(services, topic)
        head = orjson.dumps({"error_code": 200, "cluster_id": cluster_id, "topic_name": topic})
        self._head = head[:-1]
        self._last_time: tuple[int, bytes] = (-1, b"")

    async def answers(self, request: Request) -> AsyncIterator[bytes]:
        """What is sent back, in pieces as large as the parts of the stream."""
        parts: deque[_Part] = deque()
        records = RecordStream(self._services.config.body_max_bytes)
        try:
            async for chunk in request.stream():
                values = records.feed(chunk) if chunk else []
                if values:
                    parts.append(await self._hand_over(values))
                while parts and (len(parts) > _PARTS_MAX or parts[0].deliveries.done()):
                    yield await self._answer(parts.popleft())
            values = records.finish()
            if values:
                parts.append(await self._hand_over(values))
        except BadRecordStream as error:
            # Where the stream stops making sense, nothing after it can be understood.
            if error.values:
                parts.append(await self._hand_over(error.values))
            parts.append(_Part([bad_request(f"Bad Request: {error}")], _nothing()))
        except ClientDisconnect:
            return
        for part in parts:
            yield await self._answer(part)

    async def _hand_over(self, values: list[Any]) -> _Part:
        prepared = await self._preparation.prepare_all(values)
        outgoing = [one[0] for one in prepared if type(one) is tuple]
        # The next part is read when Kafka's client has this one: the order is the stream's.
        return _Part(prepared, await self._services.sender.hand_over(self._topic, outgoing))

    async def _answer(self, part: _Part) -> bytes:
        deliveries = iter(await part.deliveries)
        pieces = []
        for prepared in part.prepared:
            if isinstance(prepared, RestError):
                pieces.append(_error(prepared))
                continue
            delivery = next(deliveries)
            if delivery[3] is None:
                pieces.append(self._success(prepared, delivery))
            else:
                pieces.append(_error(from_kafka(delivery[3])))
        return b"".join(pieces)

    def _success(self, prepared: PreparedRecord, delivery: Delivery) -> bytes:
        partition, offset, timestamp, _ = delivery
        record, key_info, value_info = prepared
        return b'%b,"partition_id":%d,"offset":%d,"timestamp":"%b"%b%b}\r\n' % (
            self._head,
            partition,
            offset,
            self._time(timestamp),
            _described(b"key", key_info, record[1]),
            _described(b"value", value_info, record[2]),
        )

    def _time(self, timestamp: int) -> bytes:
        """ISO 8601; records of one request mostly have the same time."""
        if self._last_time[0] != timestamp:
            moment = datetime.fromtimestamp(timestamp / 1000, UTC)
            text = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            self._last_time = (timestamp, text.encode())
        return self._last_time[1]


def _described(part: bytes, info: bytes | None, data: bytes | None) -> bytes:
    if info is None:
        return b""
    return b',"%b":{%b,"size":%d}' % (part, info, len(data or b""))


def _error(error: RestError) -> bytes:
    return orjson.dumps({"error_code": error.code, "message": error.message}) + _END


def _nothing() -> asyncio.Future[list[Delivery]]:
    future: asyncio.Future[list[Delivery]] = asyncio.get_running_loop().create_future()
    future.set_result([])
    return future
