"""Transactions with each client library, and readers that stop at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

#: One transaction: bootstrap servers, transactional id, topic, values, whether to commit.
WriteTransaction = Callable[[str, str, str, Sequence[bytes], bool], None]


def confluent_producer(bootstrap: str, transactional_id: str, **settings: Any) -> Producer:
    """A confluent-kafka producer that is ready to begin."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": transactional_id,
            "reconnect.backoff.max.ms": 100,
            "retry.backoff.ms": 20,
            "log_level": 0,
            **settings,
        }
    )
    producer.init_transactions(30)
    return producer


def with_confluent(
    bootstrap: str, transactional_id: str, topic: str, values: Sequence[bytes], commit: bool
) -> None:
    producer = confluent_producer(bootstrap, transactional_id)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(30) == 0
    if commit:
        producer.commit_transaction(30)
    else:
        producer.abort_transaction(30)


def with_kafka_python(
    bootstrap: str, transactional_id: str, topic: str, values: Sequence[bytes], commit: bool
) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=transactional_id)
    try:
        producer.init_transactions()
        producer.begin_transaction()
        for future in [producer.send(topic, value=value) for value in values]:
            future.get(30)
        if commit:
            producer.commit_transaction()
        else:
            producer.abort_transaction()
    finally:
        producer.close()


def with_aiokafka(
    bootstrap: str, transactional_id: str, topic: str, values: Sequence[bytes], commit: bool
) -> None:
    from aiokafka import AIOKafkaProducer

    async def write() -> None:
        async with AIOKafkaProducer(
            bootstrap_servers=bootstrap, transactional_id=transactional_id
        ) as producer:
            await producer.begin_transaction()
            for value in values:
                await producer.send_and_wait(topic, value)
            if commit:
                await producer.commit_transaction()
            else:
                await producer.abort_transaction()

    asyncio.run(write())


WRITERS: dict[str, WriteTransaction] = {
    "confluent-kafka": with_confluent,
    "kafka-python": with_kafka_python,
    "aiokafka": with_aiokafka,
}


def read_to_the_end(
    bootstrap: str, topic: str, partitions: int = 1, *, isolation: str = "read_committed"
) -> list[bytes]:
    """Everything that a consumer sees now; it hears from each partition that there is no more."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "not-used",
            "enable.auto.commit": False,
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 50,
            "log_level": 0,
        }
    )
    values: list[bytes] = []
    ended: set[int] = set()
    try:
        consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
        while len(ended) < partitions:
            message: Any = consumer.poll(30)
            assert message is not None, "neither a record nor the end"
            if message.error() is None:
                values.append(message.value())
            else:
                assert message.error().name() == "_PARTITION_EOF", message.error()
                ended.add(message.partition())
    finally:
        consumer.close()
    return values
