"""Consumer groups in each client's own way: subscribe, commit, go on where the last one ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer
from kafka import KafkaConsumer

from headrace.testing import EmbeddedKafka
from tests.clients.client import Row
from tests.clients.confluent import Confluent

#: Reads so many records as a member of a group, commits, and leaves.
ReadAsMember = Callable[[str, str, str, int], list[bytes | None]]


def with_confluent(bootstrap: str, topic: str, group: str, count: int) -> list[bytes | None]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    values: list[bytes | None] = []
    while len(values) < count:
        message = consumer.poll(0.1)
        if message is not None:
            assert message.error() is None
            values.append(message.value())
    consumer.commit(asynchronous=False)
    consumer.close()
    return values


def with_kafka_python(bootstrap: str, topic: str, group: str, count: int) -> list[bytes | None]:
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_poll_records=1,
    )
    values = [next(consumer).value for _ in range(count)]
    consumer.commit()
    consumer.close()
    return values


def with_aiokafka(bootstrap: str, topic: str, group: str, count: int) -> list[bytes | None]:
    async def read() -> list[bytes | None]:
        async with AIOKafkaConsumer(
            topic,
            bootstrap_servers=bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        ) as consumer:
            values = [(await consumer.getone()).value for _ in range(count)]
            await consumer.commit()
            return values

    return asyncio.run(read())


@pytest.mark.parametrize("read", [with_confluent, with_kafka_python, with_aiokafka])
def test_the_next_member_goes_on_where_the_last_one_committed(
    read: ReadAsMember, node: EmbeddedKafka
) -> None:
    topic = node.topic()
    rows = [Row(b"%d" % number) for number in range(20)]
    Confluent(node.bootstrap_servers).write(topic, rows)
    group = f"group-of-{topic}"
    first = read(node.bootstrap_servers, topic, group, 7)
    second = read(node.bootstrap_servers, topic, group, 13)
    assert first + second == [row.value for row in rows]
