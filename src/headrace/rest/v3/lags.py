"""v3: how far consumer groups are behind."""

from __future__ import annotations

from typing import Any, NamedTuple

from confluent_kafka import ConsumerGroupTopicPartitions
from starlette.requests import Request
from starlette.responses import Response

from headrace.rest.bodies import json_answer
from headrace.rest.errors import not_found
from headrace.rest.offsets import end_offsets
from headrace.rest.services import Services
from headrace.rest.v3.groups import find_group
from headrace.rest.v3.resources import Links, collection, resource


class _Lag(NamedTuple):
    topic: str
    partition: int
    committed: int
    end: int
    member: Any

    @property
    def lag(self) -> int:
        return max(0, self.end - self.committed)


async def _lags(services: Services, group: Any) -> list[_Lag]:
    answers = services.ask(
        services.admin.list_consumer_group_offsets,
        [ConsumerGroupTopicPartitions(group.group_id)],
        request_timeout=services.config.client_timeout_s,
    )
    (future,) = answers.values()
    answer = await services.answer(future)
    committed = {
        (one.topic, one.partition): one.offset
        for one in answer.topic_partitions
        if one.offset >= 0 and one.error is None
    }
    members = {
        (one.topic, one.partition): member
        for member in group.members
        for one in member.assignment.topic_partitions
    }
    ends = await end_offsets(services, committed)
    return [
        _Lag(*place, offset, ends[place], members.get(place))
        for place, offset in sorted(committed.items())
    ]


def _lag(links: Links, cluster_id: str, group: Any, lag: _Lag) -> dict[str, Any]:
    place = (
        cluster_id,
        "consumer-groups",
        group.group_id,
        "lags",
        lag.topic,
        "partitions",
        lag.partition,
    )
    names = [
        ("kafka", cluster_id),
        ("consumer-group", group.group_id),
        ("lag", lag.topic),
        ("partition", lag.partition),
    ]
    return {
        **resource("KafkaConsumerLag", links.to(*place), names),
        "cluster_id": cluster_id,
        "consumer_group_id": group.group_id,
        "topic_name": lag.topic,
        "partition_id": lag.partition,
        "consumer_id": lag.member.member_id if lag.member else "",
        "instance_id": lag.member.group_instance_id if lag.member else None,
        "client_id": lag.member.client_id if lag.member else "",
        "current_offset": lag.committed,
        "log_end_offset": lag.end,
        "lag": lag.lag,
    }


async def list_lags(request: Request) -> Response:
    services, cluster_id, links, group = await find_group(request)
    data = [_lag(links, cluster_id, group, one) for one in await _lags(services, group)]
    # The furthest behind comes first, as operators want it.
    data.sort(key=lambda one: -int(one["lag"]))
    address = links.to(cluster_id, "consumer-groups", group.group_id, "lags")
    return json_answer(collection("KafkaConsumerLagList", address, data))


async def get_lag(request: Request) -> Response:
    services, cluster_id, links, group = await find_group(request)
    topic, partition = request.path_params["topic_name"], request.path_params["partition_id"]
    for one in await _lags(services, group):
        if one.topic == topic and str(one.partition) == partition:
            return json_answer(_lag(links, cluster_id, group, one))
    raise not_found("Consumer lag could not be found.")


async def lag_summary(request: Request) -> Response:
    services, cluster_id, links, group = await find_group(request)
    lags = await _lags(services, group)
    if not lags:
        raise not_found("Consumer group lag summary could not be found.")
    most = max(lags, key=lambda one: one.lag)
    place = (cluster_id, "consumer-groups", group.group_id)
    answer = resource(
        "KafkaConsumerGroupLagSummary",
        links.to(*place, "lag-summary"),
        [("kafka", cluster_id), ("consumer-groups", f"{group.group_id}/lag-summary")],
    )
    member = most.member
    answer |= {
        "cluster_id": cluster_id,
        "consumer_group_id": group.group_id,
        "max_lag_consumer_id": member.member_id if member else "",
        "max_lag_instance_id": member.group_instance_id if member else None,
        "max_lag_client_id": member.client_id if member else "",
        "max_lag_topic_name": most.topic,
        "max_lag_partition_id": most.partition,
        "max_lag": most.lag,
        "total_lag": sum(one.lag for one in lags),
        "max_lag_consumer": links.related(
            *place, "consumers", *([member.member_id] if member else [])
        ),
        "max_lag_partition": links.related(
            cluster_id, "topics", most.topic, "partitions", most.partition
        ),
    }
    return json_answer(answer)
