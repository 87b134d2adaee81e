"""Clients that stay while the node goes away and comes back."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from headrace.testing import EmbeddedKafka
from tests.clients.confluent import Confluent

pytestmark = pytest.mark.no_second_chance


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


def test_a_node_killed_under_load_keeps_what_it_acknowledged_once_and_in_order() -> None:
    with EmbeddedKafka() as kafka:
        topic = kafka.topic()
        producer = Producer(
            {
                "bootstrap.servers": kafka.bootstrap_servers,
                "enable.idempotence": True,
                "reconnect.backoff.max.ms": 100,
                "message.timeout.ms": 60_000,
                "log_level": 0,
            }
        )
        acknowledged: list[int] = []
        failed: list[str] = []

        def send(number: int) -> None:
            def delivered(error: Any, message: Any) -> None:
                if error is None:
                    acknowledged.append(number)
                else:
                    failed.append(error.str())

            producer.produce(topic, b"%d" % number, on_delivery=delivered)

        number = 0
        for generation in range(1, 4):
            # Some acknowledged, some on their way when the node dies.
            enough = len(acknowledged) + 500 * generation
            while len(acknowledged) < enough:
                if number - len(acknowledged) < 2_000:
                    send(number)
                    number += 1
                    producer.poll(0)
                else:
                    producer.poll(0.01)
            kafka.kill()
            kafka.start()
        assert producer.flush(60) == 0
        assert failed == []
        values = [
            row.value for row in Confluent(kafka.bootstrap_servers).read(topic, {0: 0}, number)[0]
        ]
        assert values == [b"%d" % one for one in range(number)]
        assert acknowledged == list(range(number))
