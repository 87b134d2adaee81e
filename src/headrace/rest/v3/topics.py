"""v3: topics."""

from __future__ import annotations

import asyncio
from typing import Any

from confluent_kafka import TopicCollection
from confluent_kafka.admin import NewPartitions, NewTopic
from starlette.requests import Request
from starlette.responses import Response

from headrace.rest.bodies import json_answer, read_object
from headrace.rest.errors import RestError, bad_request
from headrace.rest.services import Services
from headrace.rest.v2.topics import describe_topic, list_metadata
from headrace.rest.v3.resources import Links, collection, resource

_COUNT_MAX = (1 << 31) - 1


async def start(request: Request) -> tuple[Services, str, Links]:
    services: Services = request.app.state.services
    cluster_id = request.path_params["cluster_id"]
    await services.require_cluster(cluster_id)
    return services, cluster_id, Links(request)


async def find_topic(services: Services, name: str) -> Any:
    """v3 tells what is missing with Kafka's own code."""
    try:
        return await describe_topic(services, name)
    except RestError as error:
        if error.code == 40401:
            raise RestError(
                404, 40403, "This server does not host this topic-partition."
            ) from error
        raise


async def describe_all(services: Services) -> list[Any]:
    """All topics, by name."""
    names = sorted((await list_metadata(services)).topics)
    if not names:
        return []
    answers = services.ask(
        services.admin.describe_topics,
        TopicCollection(names),
        request_timeout=services.config.client_timeout_s,
    )
    found = await asyncio.gather(
        *(services.answer(future) for future in answers.values()), return_exceptions=True
    )
    # A topic may be deleted between the two questions.
    return [one for one in found if not isinstance(one, BaseException)]


def _topic(links: Links, cluster_id: str, description: Any) -> dict[str, Any]:
    name = description.name
    place = (cluster_id, "topics", name)
    answer = resource("KafkaTopic", links.to(*place), [("kafka", cluster_id), ("topic", name)])
    partitions = description.partitions
    return {
        **answer,
        "cluster_id": cluster_id,
        "topic_name": name,
        "is_internal": bool(description.is_internal),
        "replication_factor": len(partitions[0].replicas) if partitions else 0,
        "partitions_count": len(partitions),
        "partitions": links.related(*place, "partitions"),
        "configs": links.related(*place, "configs"),
        "partition_reassignments": links.related(*place, "partitions", "-", "reassignments"),
    }


async def list_topics(request: Request) -> Response:
    services, cluster_id, links = await start(request)
    data = [_topic(links, cluster_id, one) for one in await describe_all(services)]
    return json_answer(collection("KafkaTopicList", links.to(cluster_id, "topics"), data))


async def get_topic(request: Request) -> Response:
    services, cluster_id, links = await start(request)
    description = await find_topic(services, request.path_params["topic_name"])
    return json_answer(_topic(links, cluster_id, description))


async def create_topic(request: Request) -> Response:
    services, cluster_id, links = await start(request)
    body = await read_object(request, services.config.body_max_bytes)
    new, validate_only = _new_topic(body)
    answers = services.ask(
        services.admin.create_topics,
        [new],
        request_timeout=services.config.client_timeout_s,
        validate_only=validate_only,
    )
    await services.answer(answers[new.topic])
    services.topics.forget(new.topic)
    if validate_only:
        return json_answer(_planned(links, cluster_id, new))
    description = await _until_described(services, new.topic)
    return json_answer(_topic(links, cluster_id, description), status=201)


def _new_topic(body: dict[str, Any]) -> tuple[NewTopic, bool]:
    name = body.get("topic_name")
    if not isinstance(name, str) or not name:
        raise bad_request("topic_name must be the name of the topic.")
    configs = {}
    for entry in _objects(body, "configs"):
        if not isinstance(entry.get("name"), str) or not entry["name"]:
            raise bad_request("Every config needs a name.")
        value = entry.get("value")
        if value is not None:
            configs[entry["name"]] = str(value)
    assignments = _objects(body, "replicas_assignments")
    if assignments:
        raise bad_request("replicas_assignments are not supported; give partitions_count.")
    new = NewTopic(
        name,
        num_partitions=_count(body, "partitions_count"),
        replication_factor=_count(body, "replication_factor"),
        config=configs,
    )
    return new, body.get("validate_only") is True


def _objects(body: dict[str, Any], name: str) -> list[dict[str, Any]]:
    items = body.get(name) or []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise bad_request(f"{name} must be a list of JSON objects.")
    return items


def _count(body: dict[str, Any], name: str) -> int:
    value = body.get(name)
    if value is None:
        return -1
    if type(value) is not int or not 0 < value <= _COUNT_MAX:
        raise bad_request(f"{name} must be a number from 1 on.")
    return value


def _planned(links: Links, cluster_id: str, new: NewTopic) -> dict[str, Any]:
    place = (cluster_id, "topics", new.topic)
    answer = resource("KafkaTopic", links.to(*place), [("kafka", cluster_id), ("topic", new.topic)])
    return {
        **answer,
        "cluster_id": cluster_id,
        "topic_name": new.topic,
        "is_internal": False,
        "replication_factor": max(0, new.replication_factor),
        "partitions_count": max(0, new.num_partitions),
        "partitions": links.related(*place, "partitions"),
        "configs": links.related(*place, "configs"),
        "partition_reassignments": links.related(*place, "partitions", "-", "reassignments"),
    }


async def _until_described(services: Services, name: str) -> Any:
    """Brokers may need a moment to hear of a topic that the controller has made."""
    for _ in range(50):
        try:
            return await find_topic(services, name)
        except RestError as error:
            if error.status != 404:
                raise
            await asyncio.sleep(0.02)
    return await find_topic(services, name)


async def update_partitions(request: Request) -> Response:
    """PATCH: a topic may get more partitions."""
    services, cluster_id, links = await start(request)
    name = request.path_params["topic_name"]
    body = await read_object(request, services.config.body_max_bytes)
    count = _count(body, "partitions_count")
    if count < 0:
        raise bad_request("partitions_count must be a number from 1 on.")
    answers = services.ask(
        services.admin.create_partitions,
        [NewPartitions(name, count)],
        request_timeout=services.config.client_timeout_s,
    )
    await services.answer(answers[name])
    services.topics.forget(name)
    return json_answer(_topic(links, cluster_id, await find_topic(services, name)))


async def delete_topic(request: Request) -> Response:
    services, _, _ = await start(request)
    name = request.path_params["topic_name"]
    answers = services.ask(
        services.admin.delete_topics, [name], request_timeout=services.config.client_timeout_s
    )
    await services.answer(answers[name])
    services.topics.forget(name)
    return Response(status_code=204)
