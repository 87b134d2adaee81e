"""v2: consumer instances. A request for an instance of another proxy is passed on to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
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

Handler = Callable[[Request, Services, ConsumerInstance, dict[str, Any]], Awaitable[Response]]


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
    scope = {**request.scope, "method": "GET", "path": path, "query_string": b""}
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
        return await handler(request, services, instance, _object(body))

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


async def delete(
    request: Request, services: Services, _instance: ConsumerInstance, _body: dict[str, Any]
) -> Response:
    await services.instances.delete(request.path_params["group"], request.path_params["instance"])
    return _nothing()


async def subscribe(
    _request: Request, services: Services, instance: ConsumerInstance, body: dict[str, Any]
) -> Response:
    await instance.run(instance.subscribe, read_subscription(body))
    return _nothing()


async def subscription(
    request: Request, _services: Services, instance: ConsumerInstance, _body: dict[str, Any]
) -> Response:
    media_type = answer_type(request, V2, "application/json", *V2_TYPES)
    return json_answer({"topics": await instance.run(instance.topics)}, media_type)


async def unsubscribe(
    _request: Request, _services: Services, instance: ConsumerInstance, _body: dict[str, Any]
) -> Response:
    await instance.run(instance.unsubscribe)
    return _nothing()


async def assign(
    _request: Request, services: Services, instance: ConsumerInstance, body: dict[str, Any]
) -> Response:
    places = read_partitions(body)
    for topic, partition in places:
        await services.topics.require_partition(topic, partition)
    await instance.run(instance.assign, places)
    return _nothing()


async def assignment(
    request: Request, _services: Services, instance: ConsumerInstance, _body: dict[str, Any]
) -> Response:
    media_type = answer_type(request, V2, "application/json", *V2_TYPES)
    places = await instance.run(instance.assignment)
    partitions = [{"topic": topic, "partition": partition} for topic, partition in places]
    return json_answer({"partitions": partitions}, media_type)


async def seek(
    _request: Request, _services: Services, instance: ConsumerInstance, body: dict[str, Any]
) -> Response:
    offsets, times = read_positions(body)
    if offsets:
        await instance.run(instance.seek, offsets)
    if times:
        await instance.run(instance.seek_to_times, times)
    return _nothing()


async def seek_to_beginning(
    _request: Request, _services: Services, instance: ConsumerInstance, body: dict[str, Any]
) -> Response:
    await instance.run(instance.seek_to_beginning, read_partitions(body))
    return _nothing()


async def seek_to_end(
    _request: Request, _services: Services, instance: ConsumerInstance, body: dict[str, Any]
) -> Response:
    await instance.run(instance.seek_to_end, read_partitions(body))
    return _nothing()


async def commit(
    request: Request, _services: Services, instance: ConsumerInstance, body: dict[str, Any]
) -> Response:
    media_type = answer_type(request, V2, "application/json", *V2_TYPES)
    done = await instance.run(instance.commit, read_commits(body))
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


async def committed(
    request: Request, _services: Services, instance: ConsumerInstance, body: dict[str, Any]
) -> Response:
    media_type = answer_type(request, V2, "application/json", *V2_TYPES)
    if not body:
        raise partition_not_found()
    found = await instance.run(instance.committed, read_partitions(body))
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


async def records(
    request: Request, _services: Services, instance: ConsumerInstance, _body: dict[str, Any]
) -> Response:
    """The format of the answer is the instance's; asking for another one is refused."""
    own = f"application/vnd.kafka.{instance.config.format}.v2+json"
    wanted = answer_type(request, own, V2, *V2_TYPES, "application/json")
    if wanted in V2_TYPES and wanted != own:
        raise format_mismatch()
    timeout_ms, max_bytes = _query_number(request, "timeout"), _query_number(request, "max_bytes")
    found = await instance.run(instance.records, timeout_ms, max_bytes)
    return json_answer(found, own)


def _query_number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "-1")
    try:
        return int(text)
    except ValueError:
        raise invalid(f"{name} must be a whole number, not '{text[:40]}'.") from None
