"""Moving a node's clock: real clients see sessions, transactions and records expire."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, KafkaException, Producer

from headrace.testing import EmbeddedKafka


@pytest.fixture(params=[False, True], ids=["child", "in process"], scope="module")
def kafka(request: pytest.FixtureRequest) -> Iterator[EmbeddedKafka]:
    settings = {"group.initial.rebalance.delay.ms": "0", "log.retention.check.interval.ms": "60000"}
    with EmbeddedKafka(settings, in_process=request.param) as node:
        yield node


def until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, what


def test_the_session_of_a_silent_consumer_expires(kafka: EmbeddedKafka) -> None:
    topic = kafka.topic(partitions=2)
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": topic,
            "session.timeout.ms": 40_000,
            "heartbeat.interval.ms": 20_000,
        }
    )
    consumer.subscribe([topic])
    until(lambda: consumer.poll(0.1) or consumer.assignment(), "no assignment")
    assert len(kafka.wait_for_group(topic).members[0].assignment) == 2
    kafka.advance(41)
    kafka.wait_for_group(topic, members=0)
    consumer.close()


def test_an_abandoned_transaction_is_aborted(kafka: EmbeddedKafka) -> None:
    topic = kafka.topic()
    producer = Producer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "transactional.id": topic,
            "transaction.timeout.ms": 60_000,
        }
    )
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, b"never")
    producer.flush()
    assert kafka.transactions()[topic] == "Ongoing"
    assert [r.value for r in kafka.consume(topic, 1)] == [b"never"]
    kafka.advance(75)
    until(lambda: kafka.transactions()[topic] == "CompleteAbort", "not aborted")
    kafka.produce(topic, ["after"])
    assert [r.value for r in kafka.consume(topic, 1, isolation="read_committed")] == [b"after"]
    with pytest.raises(KafkaException):
        producer.commit_transaction()


def test_records_pass_out_of_retention(kafka: EmbeddedKafka) -> None:
    topic = kafka.topic(configs={"retention.ms": "3600000", "file.delete.delay.ms": "0"})
    kafka.produce(topic, ["old"])
    assert len(kafka.consume(topic, 1)) == 1
    kafka.advance(3 * 3600)

    def is_empty() -> bool:
        try:
            kafka.consume(topic, 1, timeout=0)
        except TimeoutError:
            return True
        return False

    until(is_empty, "the record is still there")


def test_lag_and_commits_are_those_of_the_group(kafka: EmbeddedKafka) -> None:
    topic = kafka.topic()
    kafka.produce(topic, ["a", "b", "c"], keys=["k"] * 3)
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": topic,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    assert kafka.committed(topic) == {}
    consumer.subscribe([topic])
    messages = consumer.consume(1, 20)
    assert messages[0].value() == b"a"
    consumer.commit(message=messages[0], asynchronous=False)
    consumer.close()
    assert kafka.committed(topic) == {(topic, 0): 1}
    assert kafka.lag(topic) == {(topic, 0): 2}


def test_waiting_ends_with_what_was_seen(kafka: EmbeddedKafka) -> None:
    with pytest.raises(TimeoutError, match="not there"):
        kafka.wait_for_group("nobody", timeout=0)
    with pytest.raises(TimeoutError, match="0 of 1 records"):
        kafka.consume(kafka.topic(), 1, timeout=0)


def test_a_restart_does_not_turn_the_clock_back() -> None:
    with EmbeddedKafka() as kafka:
        kafka.advance(86_400)
        topic = kafka.topic(configs={"message.timestamp.type": "LogAppendTime"})
        kafka.produce(topic, ["before"])
        kafka.restart()
        kafka.produce(topic, ["after"])
        before, after = kafka.consume(topic, 2)
        assert after.timestamp >= before.timestamp
        assert before.timestamp > (time.time() + 80_000) * 1000
