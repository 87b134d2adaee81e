"""v3: consumer groups and their members."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from headrace.rest.bodies import json_answer
from headrace.rest.errors import RestError, not_found
from headrace.rest.services import Services
from headrace.rest.v3.resources import Links, collection, resource

_NO_GROUP = "Consumer group {} could not be found."


async def _describe(services: Services, groups: list[str]) -> list[Any]:
    if not groups:
        return []
    answers = services.ask(
        services.admin.describe_consumer_groups,
        groups,
        request_timeout=services.config.client_timeout_s,
    )
    found = await asyncio.gather(
        *(services.answer(future) for future in answers.values()), return_exceptions=True
    )
    return [one for one in found if not isinstance(one, RestError)]


async def find_group(request: Request) -> tuple[Services, str, Links, Any]:
    services: Services = request.app.state.services
    cluster_id = request.path_params["cluster_id"]
    await services.require_cluster(cluster_id)
    group_id = request.path_params["group_id"]
    found = await _describe(services, [group_id])
    # Kafka describes a group that never was as dead.
    if not found or found[0].state.name in ("DEAD", "UNKNOWN"):
        raise RestError(404, 404, _NO_GROUP.format(group_id))
    return services, cluster_id, Links(request), found[0]


def _group(links: Links, cluster_id: str, group: Any) -> dict[str, Any]:
    place = (cluster_id, "consumer-groups", group.group_id)
    names = [("kafka", cluster_id), ("consumer-group", group.group_id)]
    kind = getattr(getattr(group, "type", None), "name", "CLASSIC")
    answer = {
        **resource("KafkaConsumerGroup", links.to(*place), names),
        "cluster_id": cluster_id,
        "consumer_group_id": group.group_id,
        "is_simple": bool(group.is_simple_consumer_group),
        "partition_assignor": group.partition_assignor or "",
        "state": group.state.name,
        "type": kind,
        "is_mixed_consumer_group": False,
    }
    if group.coordinator is not None:
        answer["coordinator"] = links.related(cluster_id, "brokers", group.coordinator.id)
    answer["consumer"] = links.related(*place, "consumers")
    answer["consumers"] = links.related(*place, "consumers")
    answer["lag_summary"] = links.related(*place, "lag-summary")
    return answer


async def list_groups(request: Request) -> Response:
    services: Services = request.app.state.services
    cluster_id = request.path_params["cluster_id"]
    await services.require_cluster(cluster_id)
    links = Links(request)
    answer = await services.answer(
        services.ask(
            services.admin.list_consumer_groups, request_timeout=services.config.client_timeout_s
        )
    )
    groups = await _describe(services, sorted(one.group_id for one in answer.valid))
    data = [_group(links, cluster_id, one) for one in groups]
    address = links.to(cluster_id, "consumer-groups")
    return json_answer(collection("KafkaConsumerGroupList", address, data))


async def get_group(request: Request) -> Response:
    _, cluster_id, links, group = await find_group(request)
    return json_answer(_group(links, cluster_id, group))


def _consumer(links: Links, cluster_id: str, group: Any, member: Any) -> dict[str, Any]:
    place = (cluster_id, "consumer-groups", group.group_id, "consumers", member.member_id)
    names = [
        ("kafka", cluster_id),
        ("consumer-group", group.group_id),
        ("consumer", member.member_id),
    ]
    return {
        **resource("KafkaConsumer", links.to(*place), names),
        "cluster_id": cluster_id,
        "consumer_group_id": group.group_id,
        "consumer_id": member.member_id,
        "instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "assignments": links.related(*place, "assignments"),
    }


async def list_consumers(request: Request) -> Response:
    _, cluster_id, links, group = await find_group(request)
    data = [_consumer(links, cluster_id, group, one) for one in group.members]
    address = links.to(cluster_id, "consumer-groups", group.group_id, "consumers")
    return json_answer(collection("KafkaConsumerList", address, data))


async def get_consumer(request: Request) -> Response:
    _, cluster_id, links, group = await find_group(request)
    return json_answer(_consumer(links, cluster_id, group, _member(request, group)))


def _member(request: Request, group: Any) -> Any:
    for member in group.members:
        if member.member_id == request.path_params["consumer_id"]:
            return member
    raise not_found("Consumer could not be found.")


def _assignments(links: Links, cluster_id: str, group: Any, member: Any) -> list[dict[str, Any]]:
    place = (cluster_id, "consumer-groups", group.group_id, "consumers", member.member_id)
    data = []
    for one in member.assignment.topic_partitions:
        names = [
            ("kafka", cluster_id),
            ("consumer-group", group.group_id),
            ("consumer", member.member_id),
            ("assignment", one.topic),
            ("partition", one.partition),
        ]
        where = (one.topic, "partitions", one.partition)
        address = links.to(*place, "assignments", *where)
        data.append(
            {
                **resource("KafkaConsumerAssignment", address, names),
                "cluster_id": cluster_id,
                "consumer_group_id": group.group_id,
                "consumer_id": member.member_id,
                "topic_name": one.topic,
                "partition_id": one.partition,
                "partition": links.related(cluster_id, "topics", *where),
                "lag": links.related(cluster_id, "consumer-groups", group.group_id, "lags", *where),
            }
        )
    return data


async def list_assignments(request: Request) -> Response:
    _, cluster_id, links, group = await find_group(request)
    member = _member(request, group)
    data = _assignments(links, cluster_id, group, member)
    place = (cluster_id, "consumer-groups", group.group_id, "consumers", member.member_id)
    address = links.to(*place, "assignments")
    return json_answer(collection("KafkaConsumerAssignmentList", address, data))


async def get_assignment(request: Request) -> Response:
    _, cluster_id, links, group = await find_group(request)
    wanted = request.path_params["topic_name"], request.path_params["partition_id"]
    for one in _assignments(links, cluster_id, group, _member(request, group)):
        if (one["topic_name"], str(one["partition_id"])) == wanted:
            return json_answer(one)
    raise not_found("Consumer assignment could not be found.")
