"""v3: partitions, and where they begin and end."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from headrace.rest.bodies import json_answer
from headrace.rest.offsets import partition_offsets
from headrace.rest.v2.topics import find_partition
from headrace.rest.v3.resources import Links, collection, resource
from headrace.rest.v3.topics import find_topic, start


def _partition(links: Links, cluster_id: str, topic: str, partition: Any) -> dict[str, Any]:
    place = (cluster_id, "topics", topic, "partitions", partition.id)
    names = [("kafka", cluster_id), ("topic", topic), ("partition", partition.id)]
    answer = {
        **resource("KafkaPartition", links.to(*place), names),
        "cluster_id": cluster_id,
        "topic_name": topic,
        "partition_id": partition.id,
    }
    if partition.leader is not None:
        answer["leader"] = links.related(*place, "replicas", partition.leader.id)
    answer["replicas"] = links.related(*place, "replicas")
    answer["reassignment"] = links.related(*place, "reassignment")
    return answer


async def list_partitions(request: Request) -> Response:
    services, cluster_id, links = await start(request)
    topic = request.path_params["topic_name"]
    description = await find_topic(services, topic)
    data = [_partition(links, cluster_id, topic, one) for one in description.partitions]
    address = links.to(cluster_id, "topics", topic, "partitions")
    return json_answer(collection("KafkaPartitionList", address, data))


async def get_partition(request: Request) -> Response:
    services, cluster_id, links = await start(request)
    topic = request.path_params["topic_name"]
    description = await find_topic(services, topic)
    found = find_partition(description, request.path_params["partition_id"])
    return json_answer(_partition(links, cluster_id, topic, found))


async def get_offsets(request: Request) -> Response:
    services, cluster_id, links = await start(request)
    topic = request.path_params["topic_name"]
    description = await find_topic(services, topic)
    found = find_partition(description, request.path_params["partition_id"])
    earliest, latest = await partition_offsets(services, topic, found.id)
    answer = _partition(links, cluster_id, topic, found)
    return json_answer({**answer, "earliest_offset": earliest, "latest_offset": latest})
