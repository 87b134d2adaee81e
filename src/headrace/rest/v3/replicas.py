"""v3: the replicas of a partition, and those that a broker has."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from headrace.rest.bodies import json_answer
from headrace.rest.errors import not_found
from headrace.rest.v2.topics import find_partition
from headrace.rest.v3.clusters import find_broker
from headrace.rest.v3.resources import Links, collection, resource
from headrace.rest.v3.topics import describe_all, find_topic, start


def _replica(
    links: Links, cluster_id: str, topic: str, partition: Any, broker_id: int
) -> dict[str, Any]:
    place = (cluster_id, "topics", topic, "partitions", partition.id, "replicas", broker_id)
    names = [
        ("kafka", cluster_id),
        ("topic", topic),
        ("partition", partition.id),
        ("replica", broker_id),
    ]
    leader = None if partition.leader is None else partition.leader.id
    return {
        **resource("KafkaReplica", links.to(*place), names),
        "cluster_id": cluster_id,
        "topic_name": topic,
        "partition_id": partition.id,
        "broker_id": broker_id,
        "is_leader": broker_id == leader,
        "is_in_sync": broker_id in {node.id for node in partition.isr},
        "broker": links.related(cluster_id, "brokers", broker_id),
    }


async def list_replicas(request: Request) -> Response:
    services, cluster_id, links = await start(request)
    topic = request.path_params["topic_name"]
    description = await find_topic(services, topic)
    partition = find_partition(description, request.path_params["partition_id"])
    data = [_replica(links, cluster_id, topic, partition, one.id) for one in partition.replicas]
    address = links.to(cluster_id, "topics", topic, "partitions", partition.id, "replicas")
    return json_answer(collection("KafkaReplicaList", address, data))


async def get_replica(request: Request) -> Response:
    services, cluster_id, links = await start(request)
    topic, wanted = request.path_params["topic_name"], request.path_params["broker_id"]
    description = await find_topic(services, topic)
    partition = find_partition(description, request.path_params["partition_id"])
    for node in partition.replicas:
        if str(node.id) == wanted:
            return json_answer(_replica(links, cluster_id, topic, partition, node.id))
    raise not_found(f"Replica on broker {wanted[:40]} cannot be found.")


async def list_replicas_of_broker(request: Request) -> Response:
    """Of all topics."""
    services, cluster_id, links = await start(request)
    broker = await find_broker(services, request.path_params["broker_id"])
    data = [
        _replica(links, cluster_id, topic.name, partition, broker.id)
        for topic in await describe_all(services)
        for partition in topic.partitions
        if broker.id in {node.id for node in partition.replicas}
    ]
    address = links.to(cluster_id, "brokers", broker.id, "partition-replicas")
    return json_answer(collection("KafkaReplicaList", address, data))
