"""v3: the cluster and its brokers."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from headrace.rest.bodies import json_answer
from headrace.rest.errors import not_found
from headrace.rest.services import Services
from headrace.rest.v3.resources import Links, collection, resource


async def _describe(services: Services) -> Any:
    return await services.answer(
        services.ask(
            services.admin.describe_cluster, request_timeout=services.config.client_timeout_s
        )
    )


def _cluster(links: Links, description: Any) -> dict[str, Any]:
    cluster_id = description.cluster_id
    controller = description.controller
    answer = resource("KafkaCluster", links.to(cluster_id), [("kafka", cluster_id)])
    answer["cluster_id"] = cluster_id
    if controller is not None:
        answer["controller"] = links.related(cluster_id, "brokers", controller.id)
    for name, path in (
        ("acls", ("acls",)),
        ("brokers", ("brokers",)),
        ("consumer_groups", ("consumer-groups",)),
        ("topics", ("topics",)),
        ("partition_reassignments", ("topics", "-", "partitions", "-", "reassignment")),
    ):
        answer[name] = links.related(cluster_id, *path)
    return answer


def _broker(links: Links, cluster_id: str, node: Any) -> dict[str, Any]:
    place = (cluster_id, "brokers", node.id)
    answer = resource("KafkaBroker", links.to(*place), [("kafka", cluster_id), ("broker", node.id)])
    return {
        **answer,
        "cluster_id": cluster_id,
        "broker_id": node.id,
        "host": node.host,
        "port": node.port,
        "configs": links.related(*place, "configs"),
        "partition_replicas": links.related(*place, "partition-replicas"),
    }


async def list_clusters(request: Request) -> Response:
    services: Services = request.app.state.services
    links = Links(request)
    data = [_cluster(links, await _describe(services))]
    return json_answer(collection("KafkaClusterList", links.to(), data))


async def get_cluster(request: Request) -> Response:
    services: Services = request.app.state.services
    await services.require_cluster(request.path_params["cluster_id"])
    return json_answer(_cluster(Links(request), await _describe(services)))


async def list_brokers(request: Request) -> Response:
    services: Services = request.app.state.services
    cluster_id = request.path_params["cluster_id"]
    await services.require_cluster(cluster_id)
    links = Links(request)
    nodes = sorted((await _describe(services)).nodes, key=lambda node: int(node.id))
    data = [_broker(links, cluster_id, node) for node in nodes]
    return json_answer(collection("KafkaBrokerList", links.to(cluster_id, "brokers"), data))


async def get_broker(request: Request) -> Response:
    services: Services = request.app.state.services
    cluster_id = request.path_params["cluster_id"]
    await services.require_cluster(cluster_id)
    node = await find_broker(services, request.path_params["broker_id"])
    return json_answer(_broker(Links(request), cluster_id, node))


async def find_broker(services: Services, broker_id: str) -> Any:
    """A broker that is there; one that is not would be waited for."""
    for node in (await _describe(services)).nodes:
        if str(node.id) == broker_id:
            return node
    raise not_found(f"Broker {broker_id[:40]} cannot be found.")
