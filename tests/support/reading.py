"""Everything in a topic, read with librdkafka and no group."""

import time
from collections.abc import Mapping
from typing import NamedTuple, cast

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from tests.support.node import Node

OFFSET_BEGINNING = -2


class Seen(NamedTuple):
    """A record as a consumer sees it."""

    partition: int
    offset: int
    timestamp: tuple[int, int]
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def read_topic(
    node: Node, topic: str, *, partitions: int = 1, committed: bool = True, timeout: float = 60.0
) -> list[Seen]:
    """All records from the beginning to the end as it is now, by partition and offset."""
    found = read_topics(node, {topic: partitions}, committed=committed, timeout=timeout)
    return found[topic]


def read_topics(
    node: Node, topics: Mapping[str, int], *, committed: bool = True, timeout: float = 60.0
) -> dict[str, list[Seen]]:
    """The same for several topics, which are given with their number of partitions."""
    seen: dict[str, list[Seen]] = {topic: [] for topic in topics}
    trouble = _read(node, topics, seen, committed=committed, timeout=timeout)
    assert trouble is None, trouble
    for records in seen.values():
        records.sort(key=lambda one: (one.partition, one.offset))
    return seen


def _read(
    node: Node,
    topics: Mapping[str, int],
    seen: dict[str, list[Seen]],
    *,
    committed: bool,
    timeout: float,
) -> str | None:
    consumer = Consumer(
        {
            "bootstrap.servers": node.bootstrap,
            "group.id": "none",  # librdkafka insists on one; `assign` does not use it.
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed" if committed else "read_uncommitted",
            "fetch.wait.max.ms": 50,
            "log_level": 0,
        }
    )
    waiting = {(topic, n) for topic, count in topics.items() for n in range(count)}
    consumer.assign([TopicPartition(topic, n, OFFSET_BEGINNING) for topic, n in waiting])
    deadline = time.monotonic() + timeout
    try:
        while waiting:
            if time.monotonic() > deadline:
                return f"no end of {waiting} within {timeout} s"
            message = consumer.poll(0.2)
            if message is None:
                continue
            error = message.error()
            if error is None:
                seen[str(message.topic())].append(_seen(message))
            elif error.code() == KafkaError._PARTITION_EOF:
                waiting.discard((message.topic(), message.partition()))
            else:
                return f"{message.topic()}: {error}"
    finally:
        consumer.close()
    return None


def _seen(message: Message) -> Seen:
    partition, offset = message.partition(), message.offset()
    assert partition is not None
    assert offset is not None
    headers = cast("list[tuple[str, bytes | None]]", message.headers() or [])
    return Seen(
        partition,
        offset,
        message.timestamp(),
        message.key(),
        message.value(),
        tuple(headers),
    )
