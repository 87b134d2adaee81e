"""The state of topics' partitions, page by page where the cluster can (KIP-966)."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.base.errors import ErrorCode
from headrace.client.blocking import KafkaClient
from headrace.client.errors import raise_for_code
from headrace.client.metadata import ask_topics
from headrace.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)


@dataclass(slots=True)
class PartitionState:
    """One partition; `elr` is None where the cluster does not tell."""

    index: int
    leader: int
    replicas: list[int]
    isr: list[int]
    elr: list[int] | None = None
    last_known_elr: list[int] | None = None


@dataclass(slots=True)
class TopicState:
    """One topic, its partitions in order."""

    name: str
    topic_id: bytes
    partitions: list[PartitionState]


def ask_partitions(
    client: KafkaClient, names: list[str], limit: int, *, paged: bool = True
) -> list[TopicState]:
    """The named topics; `KafkaError` if one of them cannot be described."""
    if not names:
        return []
    if not paged or client.any_node().versions.highest(DescribeTopicPartitionsRequest) is None:
        return _from_metadata(client, names)
    return client.retry(lambda: _from_pages(client, sorted(names), limit))


def _from_pages(client: KafkaClient, names: list[str], limit: int) -> list[TopicState]:
    topics: dict[str, TopicState] = {}
    cursor: Cursor | None = None
    while True:
        request = DescribeTopicPartitionsRequest(
            topics=[TopicRequest(name=name) for name in names],
            response_partition_limit=limit,
            cursor=cursor,
        )
        page = client.any_node().call(request, DescribeTopicPartitionsResponse)
        for topic in page.topics:
            raise_for_code(topic.error_code)
            name = topic.name or ""
            state = topics.setdefault(name, TopicState(name, topic.topic_id, []))
            state.partitions += [
                PartitionState(
                    p.partition_index,
                    p.leader_id,
                    p.replica_nodes,
                    p.isr_nodes,
                    p.eligible_leader_replicas,
                    p.last_known_elr,
                )
                for p in topic.partitions
            ]
        following = page.next_cursor
        if following is None:
            break
        position = (following.topic_name, following.partition_index)
        if cursor is not None and position <= (cursor.topic_name, cursor.partition_index):
            break  # a cursor that does not move on would keep us here for ever
        cursor = following
        names = [name for name in names if name >= following.topic_name]
    return _sorted(list(topics.values()))


def _from_metadata(client: KafkaClient, names: list[str]) -> list[TopicState]:
    answer = client.retry(lambda: ask_topics(client.any_node(), names))
    topics = []
    for topic in answer.topics:
        if topic.error_code != ErrorCode.LEADER_NOT_AVAILABLE:
            raise_for_code(topic.error_code)
        states = [
            PartitionState(p.partition_index, p.leader_id, p.replica_nodes, p.isr_nodes)
            for p in topic.partitions
        ]
        topics.append(TopicState(topic.name or "", topic.topic_id, states))
    return _sorted(topics)


def _sorted(topics: list[TopicState]) -> list[TopicState]:
    for topic in topics:
        topic.partitions.sort(key=lambda partition: partition.index)
    return topics
