"""DescribeTopicPartitions: topics in the order of their names, a page at a time (KIP-966)."""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.cluster_view import ClusterView
from headrace.broker.config import BrokerConfig
from headrace.broker.context import RequestContext
from headrace.broker.offline_replicas import offline_replicas
from headrace.metadata.controller.topic_names import INTERNAL_TOPICS, check_topic_name
from headrace.metadata.image import MetadataImage, PartitionImage, TopicImage
from headrace.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)


class DescribeTopicPartitionsHandler:
    """Serves API key 75."""

    def __init__(self, cluster: ClusterView, config: BrokerConfig) -> None:
        self._cluster = cluster
        self._partitions_max = config.describe_partitions_max

    def __call__(
        self, context: RequestContext, request: DescribeTopicPartitionsRequest
    ) -> DescribeTopicPartitionsResponse:
        image = self._cluster.image
        names = _names(request, image)
        allowed = [
            name for name in names if context.allows(Operation.DESCRIBE, ResourceType.TOPIC, name)
        ]
        limit = max(1, min(self._partitions_max, request.response_partition_limit))
        response = _page(request, image, allowed, limit)
        for topic in response.topics:
            topic.topic_authorized_operations = context.authorized_operations(
                ResourceType.TOPIC, topic.name or ""
            )
        if request.topics:
            # Whether they exist is not told to those who may not know of them.
            refused = sorted(names.keys() - set(allowed))
            code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            response.topics += [
                DescribeTopicPartitionsResponseTopic(name=name, error_code=code) for name in refused
            ]
        return response


def _names(request: DescribeTopicPartitionsRequest, image: MetadataImage) -> dict[str, None]:
    """The topics from the cursor on, sorted; without a list all there are."""
    cursor = request.cursor
    asked = [topic.name for topic in request.topics] or image.topics_by_name
    first = cursor.topic_name if cursor is not None else ""
    names = dict.fromkeys(sorted(name for name in asked if name >= first))
    if cursor is not None:
        if request.topics and first not in names:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"The cursor's topic {first} is not among those asked for.",
            )
        if cursor.partition_index < 0:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"The cursor's partition {cursor.partition_index} is none.",
            )
    return names


def _page(
    request: DescribeTopicPartitionsRequest, image: MetadataImage, names: list[str], limit: int
) -> DescribeTopicPartitionsResponse:
    response = DescribeTopicPartitionsResponse()
    cursor = request.cursor
    left = limit
    for name in names:
        if left == 0:
            response.next_cursor = Cursor(topic_name=name, partition_index=0)
            break
        topic = image.topics_by_name.get(name)
        if topic is None:
            if request.topics:
                response.topics.append(_unknown(name))
            continue
        start = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        stop = min(len(topic.partitions), start + left)
        response.topics.append(_topic(topic, range(start, stop), image))
        left -= max(0, stop - start)
        if stop < len(topic.partitions):
            response.next_cursor = Cursor(topic_name=name, partition_index=stop)
            break
    return response


def _unknown(name: str) -> DescribeTopicPartitionsResponseTopic:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    try:
        check_topic_name(name)
    except KafkaError as error:
        code = error.code
    return DescribeTopicPartitionsResponseTopic(
        name=name, error_code=int(code), is_internal=name in INTERNAL_TOPICS
    )


def _topic(
    topic: TopicImage, indexes: range, image: MetadataImage
) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=[_partition(index, topic.partitions[index], image) for index in indexes],
    )


def _partition(
    index: int, partition: PartitionImage, image: MetadataImage
) -> DescribeTopicPartitionsResponsePartition:
    leader = image.brokers.get(partition.leader)
    return DescribeTopicPartitionsResponsePartition(
        partition_index=index,
        leader_id=-1 if leader is None or leader.fenced else partition.leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        eligible_leader_replicas=list(partition.elr),
        last_known_elr=list(partition.last_known_elr),
        offline_replicas=offline_replicas(partition, image),
    )
