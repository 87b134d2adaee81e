"""The `--topic` options of `headrace consumer-groups`: `orders`, or `orders:0,1`."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.base.errors import KafkaError
from headrace.cli.failure import CommandFailedError, UsageError
from headrace.client.blocking import KafkaClient
from headrace.client.errors import error_for_code
from headrace.client.leaders import TopicPartition
from headrace.client.metadata import ask_topics


def parse_partitions(text: str) -> list[TopicPartition]:
    """`topic:0,1,2`."""
    topic, _, rest = text.partition(":")
    if not topic or not rest or ":" in rest:
        raise UsageError(f"Invalid topic arg '{text}', expected topic name and partitions")
    partitions = []
    for part in rest.split(","):
        if not part.isdecimal():
            raise UsageError(f"Invalid partition '{part}' specified in topic arg '{text}'")
        partitions.append((topic, int(part)))
    return partitions


def topic_partitions(
    client: KafkaClient, topics: Iterable[str]
) -> dict[str, list[TopicPartition] | KafkaError]:
    """All partitions of each topic, or why they cannot be told."""
    names = sorted(set(topics))
    if not names:
        return {}
    answer = client.retry(lambda: ask_topics(client.any_node(), names))
    found: dict[str, list[TopicPartition] | KafkaError] = {}
    for topic in answer.topics:
        if topic.name is None:
            continue
        if topic.error_code:
            found[topic.name] = error_for_code(topic.error_code)
        else:
            indexes = sorted(partition.partition_index for partition in topic.partitions)
            found[topic.name] = [(topic.name, index) for index in indexes]
    return found


def named_partitions(client: KafkaClient, options: list[str]) -> list[TopicPartition]:
    """What the options name: single partitions, and whole topics, which have to exist."""
    partitions = [tp for text in options if ":" in text for tp in parse_partitions(text)]
    found = topic_partitions(client, (text for text in options if ":" not in text))
    for rows in found.values():
        if isinstance(rows, KafkaError):
            raise rows
        partitions += rows
    return partitions


def require_partitions(client: KafkaClient, partitions: Iterable[TopicPartition]) -> None:
    """Refuse to go on with partitions that do not exist."""
    wanted = set(partitions)
    found = topic_partitions(client, {topic for topic, _ in wanted})
    known = {tp for rows in found.values() if not isinstance(rows, KafkaError) for tp in rows}
    unknown = sorted(wanted - known)
    if unknown:
        names = ", ".join(f"{topic}-{index}" for topic, index in unknown)
        raise CommandFailedError(f'The partitions "{names}" do not exist')
