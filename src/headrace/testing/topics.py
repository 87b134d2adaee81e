"""Topics of an embedded node, through plain requests of the protocol."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headrace.client.blocking import KafkaClient
from headrace.client.errors import raise_for_code
from headrace.client.metadata import ask_topics
from headrace.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from headrace.protocol.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

_TIMEOUT_MS = 30_000


def create_topic(
    client: KafkaClient, name: str, partitions: int, configs: Mapping[str, str]
) -> str:
    """Create a topic with one replica of each partition."""
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )

    def check(answer: CreateTopicsResponse) -> None:
        for result in answer.topics:
            raise_for_code(result.error_code, result.error_message)

    client.admin(
        CreateTopicsRequest(topics=[topic], timeout_ms=_TIMEOUT_MS),
        CreateTopicsResponse,
        check=check,
    )
    return name


def delete_topics(client: KafkaClient, names: Iterable[str]) -> None:
    """Delete topics by name."""
    wanted = list(names)
    if not wanted:
        return

    def check(answer: DeleteTopicsResponse) -> None:
        for result in answer.responses:
            raise_for_code(result.error_code, result.error_message)

    client.admin(
        DeleteTopicsRequest(
            topics=[DeleteTopicState(name=name) for name in wanted],
            topic_names=wanted,
            timeout_ms=_TIMEOUT_MS,
        ),
        DeleteTopicsResponse,
        check=check,
    )


def list_topics(client: KafkaClient) -> list[str]:
    """The names of all topics but Kafka's own, sorted."""
    topics = ask_topics(client.any_node(), None).topics
    return sorted(t.name for t in topics if t.name is not None and not t.is_internal)
