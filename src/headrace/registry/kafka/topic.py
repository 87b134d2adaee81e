"""The schemas topic: made if it is not there, and refused if it could lose schemas."""

from __future__ import annotations

import logging

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.blocking import KafkaClient
from headrace.client.errors import raise_for_code
from headrace.client.metadata import NOT_READY, ask_topics
from headrace.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from headrace.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)

logger = logging.getLogger(__name__)

_TOPIC_RESOURCE = 2
_TIMEOUT_MS = 30_000


def ensure_topic(client: KafkaClient, topic: str, replication_factor: int) -> None:
    """One partition, compacted; `KafkaError` if the topic is there and is not so."""
    partitions = _partitions(client, topic)
    if partitions is None:
        _create(client, topic, replication_factor)
        return
    if partitions != 1:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"The schemas topic {topic} has {partitions} partitions; it must have one,"
            " or the order of schemas is lost.",
        )
    policy = _cleanup_policy(client, topic)
    if policy is not None and policy != "compact":
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"The schemas topic {topic} has cleanup.policy={policy}; it must be compact,"
            " or schemas are deleted with time.",
        )


def _partitions(client: KafkaClient, topic: str) -> int | None:
    answer = client.retry(lambda: ask_topics(client.any_node(), [topic]))
    for row in answer.topics:
        if row.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return None
        if row.error_code not in NOT_READY:
            raise_for_code(row.error_code)
        return len(row.partitions) or None
    return None


def _create(client: KafkaClient, topic: str, replication_factor: int) -> None:
    brokers = len(client.refresh().nodes)
    if brokers < replication_factor:
        logger.warning(
            "the schemas topic gets %d replicas, not %d: there are no more brokers",
            brokers,
            replication_factor,
        )
    request = CreateTopicsRequest(
        topics=[
            CreatableTopic(
                name=topic,
                num_partitions=1,
                replication_factor=min(brokers, replication_factor),
                configs=[CreatableTopicConfig(name="cleanup.policy", value="compact")],
            )
        ],
        timeout_ms=_TIMEOUT_MS,
    )

    def check(answer: CreateTopicsResponse) -> None:
        for row in answer.topics:
            # Another registry may have been quicker.
            if row.error_code != ErrorCode.TOPIC_ALREADY_EXISTS:
                raise_for_code(row.error_code, row.error_message)

    client.admin(request, CreateTopicsResponse, check=check)


def _cleanup_policy(client: KafkaClient, topic: str) -> str | None:
    resource = DescribeConfigsResource(
        resource_type=_TOPIC_RESOURCE,
        resource_name=topic,
        configuration_keys=["cleanup.policy"],
    )
    answer = client.admin(DescribeConfigsRequest(resources=[resource]), DescribeConfigsResponse)
    for result in answer.results:
        if result.error_code:
            return None
        for config in result.configs:
            return str(config.value)
    return None
