"""Everything in a topic, read with librdkafka and no group."""

import time
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, TopicPartition

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
    node: Node,
    topic: str,
    *,
    partitions: int = 1,
    committed: bool = True,
    timeout: float = 60.0,
) -> list[Seen]:
    """All records from the beginning to the end as it is now, by partition and offset."""
    consumer = Consumer(
        {
            "bootstrap.servers": node.bootstrap,
            "group.id": "none",  # librdkafka insists on one; `assign` does not use it.
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "isolation.level": "read_committed" if committed else "read_uncommitted",
            "fetch.wait.max.ms": 50,
        }
    )
    consumer.assign([TopicPartition(topic, n, OFFSET_BEGINNING) for n in range(partitions)])
    seen: list[Seen] = []
    ended: set[int] = set()
    deadline = time.monotonic() + timeout
    try:
        while len(ended) < partitions:
            assert time.monotonic() < deadline, f"read only {len(seen)} records of {topic}"
            for message in consumer.consume(1000, timeout=0.2):
                error = message.error()
                if error is None:
                    seen.append(_seen(message))
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition())
                else:
                    raise AssertionError(f"{topic}: {error}")
    finally:
        consumer.close()
    return sorted(seen, key=lambda one: (one.partition, one.offset))


def _seen(message: object) -> Seen:
    from confluent_kafka import Message

    assert isinstance(message, Message)
    return Seen(
        message.partition(),
        message.offset(),
        message.timestamp(),
        message.key(),
        message.value(),
        tuple(message.headers() or ()),
    )
