"""v2: topics, partitions and brokers, to look at."""

from __future__ import annotations

from typing import Any

from confluent_kafka import TopicCollection
from confluent_kafka.admin import ConfigResource, ResourceType
from starlette.requests import Request
from starlette.responses import Response

from headrace.rest.bodies import V2, V2_TYPES, answer_type, json_answer
from headrace.rest.errors import RestError, partition_not_found, topic_not_found
from headrace.rest.offsets import partition_offsets
from headrace.rest.services import Services


def _type(request: Request) -> str:
    return answer_type(request, V2, "application/json", *V2_TYPES)


async def list_topics(request: Request) -> Response:
    media_type = _type(request)
    metadata = await list_metadata(request.app.state.services)
    return json_answer(sorted(metadata.topics), media_type)


async def get_topic(request: Request) -> Response:
    media_type = _type(request)
    services: Services = request.app.state.services
    name = request.path_params["topic"]
    description = await describe_topic(services, name)
    resource = ConfigResource(ResourceType.TOPIC, name)
    answer = services.ask(
        services.admin.describe_configs,
        [resource],
        request_timeout=services.config.client_timeout_s,
    )
    configs = await services.answer(answer[resource])
    return json_answer(
        {
            "name": name,
            "configs": {entry.name: entry.value for entry in configs.values()},
            "partitions": [_partition(one) for one in description.partitions],
        },
        media_type,
    )


async def list_partitions(request: Request) -> Response:
    media_type = _type(request)
    services: Services = request.app.state.services
    description = await describe_topic(services, request.path_params["topic"])
    return json_answer([_partition(one) for one in description.partitions], media_type)


async def get_partition(request: Request) -> Response:
    media_type = _type(request)
    services: Services = request.app.state.services
    description = await describe_topic(services, request.path_params["topic"])
    return json_answer(
        _partition(find_partition(description, request.path_params["partition"])), media_type
    )


async def get_offsets(request: Request) -> Response:
    media_type = _type(request)
    services: Services = request.app.state.services
    topic = request.path_params["topic"]
    description = await describe_topic(services, topic)
    partition = find_partition(description, request.path_params["partition"])
    beginning, end = await partition_offsets(services, topic, partition.id)
    return json_answer({"beginning_offset": beginning, "end_offset": end}, media_type)


async def list_brokers(request: Request) -> Response:
    media_type = _type(request)
    metadata = await list_metadata(request.app.state.services)
    return json_answer({"brokers": sorted(metadata.brokers)}, media_type)


async def list_metadata(services: Services) -> Any:
    """All topics and brokers."""
    timeout_s = services.config.client_timeout_s
    return await services.blocking(
        lambda: services.ask(services.admin.list_topics, timeout=timeout_s)
    )


async def describe_topic(services: Services, name: str) -> Any:
    if not name or len(name) > 249 or "\0" in name:
        raise topic_not_found()
    answers = services.ask(
        services.admin.describe_topics,
        TopicCollection([name]),
        request_timeout=services.config.client_timeout_s,
    )
    try:
        return await services.answer(answers[name])
    except RestError as error:
        if error.code in (40403, 40002):
            raise topic_not_found() from error
        raise


def find_partition(description: Any, text: str) -> Any:
    for partition in description.partitions:
        if str(partition.id) == text:
            return partition
    raise partition_not_found()


def _partition(partition: Any) -> dict[str, Any]:
    leader = -1 if partition.leader is None else partition.leader.id
    in_sync = {node.id for node in partition.isr}
    return {
        "partition": partition.id,
        "leader": leader,
        "replicas": [
            {"broker": node.id, "leader": node.id == leader, "in_sync": node.id in in_sync}
            for node in partition.replicas
        ],
    }
