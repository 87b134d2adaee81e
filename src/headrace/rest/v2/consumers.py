"""v2: consumer instances. A request for an instance of another proxy is passed on to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from headrace.rest.bodies import (
    V2,
    V2_TYPES,
    answer_type,
    json_answer,
    parse_json,
    read_body,
    require_json,
)
from headrace.rest.errors import format_mismatch, instance_exists, invalid, partition_not_found
from headrace.rest.forwarding import FORWARDED
from headrace.rest.instance import ConsumerInstance
from headrace.rest.services import Services
from headrace.rest.v2.consumer_bodies import (
    read_commits,
    read_partitions,
    read_positions,
    read_subscription,
)


class InstanceCall(NamedTuple):
    """A request for an instance that is here, its body read."""

    request: Request
    services: Services
    instance: ConsumerInstance
    body: dict[str, Any]

    @property
    def media_type(self) -> str:
        return answer_type(self.request, V2, "application/json", *V2_TYPES)


Handler = Callable[[InstanceCall], Awaitable[Response]]


async def create(request: Request) -> Response:
    """POST /consumers/{group}"""
    services: Services = request.app.state.services
    media_type = answer_type(request, V2, "application/json", *V2_TYPES)
    require_json(request)
    body = _object(await read_body(request, services.config.body_max_bytes))
    group = request.path_params["group"]
    name = body.get("name", body.get("id"))
    if isinstance(name, str) and name and await _is_elsewhere(request, services, group, name):
        raise instance_exists()
    instance = await services.instances.create(group, body)
    base = services.config.advertised_url or str(request.base_url).rstrip("/")
    path = f"/consumers/{quote(group, safe='')}/instances/{quote(instance, safe='')}"
    return json_answer({"instance_id": instance, "base_uri": base + path}, media_type)


async def _is_elsewhere(request: Request, services: Services, group: str, name: str) -> bool:
    """Whether a peer has an instance of that name already."""
    if FORWARDED in request.headers or services.instances.has(group, name):
        return False
    path = f"/consumers/{quote(group, safe='')}/instances/{quote(name, safe='')}/subscription"
    target = {"method": "GET", "path": path, "raw_path": path.encode(), "query_string": b""}
    scope = {**request.scope, **target}
    return await services.peers.forward(Request(scope), name, b"") is not None


def on_instance(handler: Handler, *, needs_body: bool = False) -> Callable[..., Any]:
    """A handler for an instance, wherever it is."""

    async def handle(request: Request) -> Response:
        services: Services = request.app.state.services
        group, name = request.path_params["group"], request.path_params["instance"]
        require_json(request)
        body = await read_body(request, services.config.body_max_bytes)
        if not services.instances.has(group, name):
            answer = await services.peers.forward(request, name, body)
            if answer is not None:
                return answer
        instance = services.instances.find(group, name)
        if needs_body and not body.strip():
            raise invalid("The request body may not be empty.")
        return await handler(InstanceCall(request, services, instance, _object(body)))

    return handle


def _object(body: bytes) -> dict[str, Any]:
    if not body.strip():
        return {}
    value = parse_json(body)
    if not isinstance(value, dict):
        raise invalid("The request body must be a JSON object.")
    return value


def _nothing() -> Response:
    return Response(status_code=204)


async def delete(call: InstanceCall) -> Response:
    where = call.request.path_params
    await call.services.instances.delete(where["group"], where["instance"])
    return _nothing()


async def subscribe(call: InstanceCall) -> Response:
    await call.instance.run(call.instance.subscribe, read_subscription(call.body))
    return _nothing()


async def subscription(call: InstanceCall) -> Response:
    media_type = call.media_type
    return json_answer({"topics": await call.instance.run(call.instance.topics)}, media_type)


async def unsubscribe(call: InstanceCall) -> Response:
    await call.instance.run(call.instance.unsubscribe)
    return _nothing()


async def assign(call: InstanceCall) -> Response:
    places = read_partitions(call.body)
    for topic, partition in places:
        await call.services.topics.require_partition(topic, partition)
    await call.instance.run(call.instance.assign, places)
    return _nothing()


async def assignment(call: InstanceCall) -> Response:
    media_type = call.media_type
    places = await call.instance.run(call.instance.assignment)
    partitions = [{"topic": topic, "partition": partition} for topic, partition in places]
    return json_answer({"partitions": partitions}, media_type)


async def seek(call: InstanceCall) -> Response:
    offsets, times = read_positions(call.body)
    if offsets:
        await call.instance.run(call.instance.seek, offsets)
    if times:
        await call.instance.run(call.instance.seek_to_times, times)
    return _nothing()


async def seek_to_beginning(call: InstanceCall) -> Response:
    await call.instance.run(call.instance.seek_to_beginning, read_partitions(call.body))
    return _nothing()


async def seek_to_end(call: InstanceCall) -> Response:
    await call.instance.run(call.instance.seek_to_end, read_partitions(call.body))
    return _nothing()


async def commit(call: InstanceCall) -> Response:
    media_type = call.media_type
    done = await call.instance.run(call.instance.commit, read_commits(call.body))
    offsets = [
        {
            "topic": place.topic,
            "partition": place.partition,
            "consumed": place.offset,
            "committed": place.offset,
        }
        for place in done
    ]
    return json_answer({"offsets": offsets}, media_type)


async def committed(call: InstanceCall) -> Response:
    media_type = call.media_type
    if not call.body:
        raise partition_not_found()
    found = await call.instance.run(call.instance.committed, read_partitions(call.body))
    offsets = [
        {
            "topic": place.topic,
            "partition": place.partition,
            "offset": place.offset,
            "metadata": place.metadata or "",
        }
        for place in found
    ]
    return json_answer({"offsets": offsets}, media_type)


async def records(call: InstanceCall) -> Response:
    """The format of the answer is the instance's; asking for another one is refused."""
    own = f"application/vnd.kafka.{call.instance.config.format}.v2+json"
    wanted = answer_type(call.request, own, V2, *V2_TYPES, "application/json")
    if wanted in V2_TYPES and wanted != own:
        raise format_mismatch()
    timeout_ms, max_bytes = (
        _query_number(call.request, "timeout"),
        _query_number(call.request, "max_bytes"),
    )
    found = await call.instance.run(call.instance.records, timeout_ms, max_bytes)
    return Response(found, media_type=own)


def _query_number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "-1")
    try:
        return int(text)
    except ValueError:
        raise invalid(f"{name} must be a whole number, not '{text[:40]}'.") from None
