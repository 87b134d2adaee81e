"""What applications see of a topic: confluent-kafka as producer and read_committed consumer."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterable, Iterator

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

_PATIENCE_S = 60.0
#: What librdkafka says at the end of a partition.
_PARTITION_EOF = -191


def new_topic(servers: str, partitions: int) -> str:
    """A topic under a name that nobody else has."""
    name = f"topic-{secrets.token_hex(4)}"
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result()
    return name


def produce(servers: str, topic: str, numbers: Iterable[int], keys: int = 50) -> None:
    """Numbers as values, and their remainder as key."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 20})
    for number in numbers:
        producer.produce(topic, key=str(number % keys), value=str(number))
        producer.poll(0)
    assert producer.flush(_PATIENCE_S) == 0


def read_committed(servers: str, topic: str) -> Iterator[Message]:
    """All committed messages of a topic up to its end."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": f"reader-{secrets.token_hex(4)}",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    try:
        known = consumer.list_topics(topic, timeout=_PATIENCE_S).topics[topic].partitions
        consumer.assign([TopicPartition(topic, index, 0) for index in known])
        ended: set[int] = set()
        while len(ended) < len(known):
            message = consumer.poll(_PATIENCE_S)
            assert message is not None, f"{topic} did not end in time"
            error = message.error()
            if error is None:
                yield message
            else:
                assert error.code() == _PARTITION_EOF, error
                ended.add(message.partition() or 0)
    finally:
        consumer.close()


def committed_values(servers: str, topic: str) -> Counter[int]:
    """How often each number is there."""
    return Counter(int(message.value() or b"") for message in read_committed(servers, topic))


def values_by_key(servers: str, topic: str) -> dict[bytes, list[int]]:
    """The numbers of each key, in the order of their offsets."""
    found: dict[bytes, list[int]] = {}
    for message in read_committed(servers, topic):
        found.setdefault(message.key() or b"", []).append(int(message.value() or b""))
    return found


def group_offsets(servers: str, group: str, topic: str, partitions: int) -> dict[int, int]:
    """What a group has committed."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group})
    try:
        wanted = [TopicPartition(topic, index) for index in range(partitions)]
        found = consumer.committed(wanted, timeout=_PATIENCE_S)
        return {each.partition: each.offset for each in found}
    finally:
        consumer.close()
