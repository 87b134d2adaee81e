"""Clients that stay while the node goes away and comes back."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from headrace.testing import EmbeddedKafka


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_producer_and_a_consumer_go_on_after_a_restart(end: str) -> None:
    with EmbeddedKafka() as kafka:
        topic = kafka.topic()
        producer = Producer(
            {
                "bootstrap.servers": kafka.bootstrap_servers,
                "enable.idempotence": True,
                "reconnect.backoff.max.ms": 100,
                "log_level": 0,
            }
        )
        consumer = Consumer(
            {
                "bootstrap.servers": kafka.bootstrap_servers,
                "group.id": "not-used",
                "enable.auto.commit": False,
                "reconnect.backoff.max.ms": 100,
                "log_level": 0,
            }
        )
        consumer.assign([TopicPartition(topic, 0, 0)])
        for generation in range(3):
            for number in range(50):
                producer.produce(topic, b"%d-%d" % (generation, number))
            assert producer.flush(60) == 0
            getattr(kafka, end)()
            kafka.start()
        values: list[bytes | None] = []
        while len(values) < 150:
            message = consumer.poll(1)
            if message is not None and message.error() is None:
                values.append(message.value())
        consumer.close()
        assert values == [b"%d-%d" % (g, n) for g in range(3) for n in range(50)]
