"""Transactional producers, and consumers that read only what was committed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from headrace.testing import EmbeddedKafka
from tests.clients.transactional import (
    WRITERS,
    WriteTransaction,
    confluent_producer,
    read_to_the_end,
)

_MANY = [b"%d" % number for number in range(300)]


@pytest.fixture(params=WRITERS)
def write(request: pytest.FixtureRequest) -> WriteTransaction:
    """One transaction with each client in turn."""
    return WRITERS[request.param]


@pytest.fixture
def impatient() -> Iterator[EmbeddedKafka]:
    """A node that looks for abandoned transactions often."""
    interval = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
    with EmbeddedKafka({interval: "50"}) as kafka:
        yield kafka


def test_committed_records_are_read(node: EmbeddedKafka, write: WriteTransaction) -> None:
    topic = node.topic()
    write(node.bootstrap_servers, topic, topic, [b"one", b"two"], True)
    write(node.bootstrap_servers, topic, topic, [b"three"], True)
    assert read_to_the_end(node.bootstrap_servers, topic) == [b"one", b"two", b"three"]


def test_aborted_records_are_read_by_nobody_who_wants_committed_ones(
    node: EmbeddedKafka, write: WriteTransaction
) -> None:
    topic = node.topic()
    write(node.bootstrap_servers, topic, topic, [b"yes"], True)
    write(node.bootstrap_servers, topic, topic, [b"no", b"neither"], False)
    write(node.bootstrap_servers, topic, topic, [b"again"], True)
    assert read_to_the_end(node.bootstrap_servers, topic) == [b"yes", b"again"]
    everything = read_to_the_end(node.bootstrap_servers, topic, isolation="read_uncommitted")
    assert everything == [b"yes", b"no", b"neither", b"again"]


def test_all_clients_write_to_one_partition_in_turn(node: EmbeddedKafka) -> None:
    topic = node.topic()
    expected: list[bytes] = []
    for number, (name, write) in enumerate(list(WRITERS.items()) * 2):
        value = f"{name} {number}".encode()
        write(node.bootstrap_servers, f"{topic}-{name}", topic, [value], number % 2 == 0)
        if number % 2 == 0:
            expected.append(value)
    assert read_to_the_end(node.bootstrap_servers, topic) == expected


def test_an_open_transaction_hides_what_comes_after_it(node: EmbeddedKafka) -> None:
    topic = node.topic()
    bootstrap = node.bootstrap_servers
    slow = confluent_producer(bootstrap, f"{topic}-slow")
    quick = confluent_producer(bootstrap, f"{topic}-quick")
    for producer in (slow, quick):
        producer.begin_transaction()
    slow.produce(topic, b"slow")
    assert slow.flush(30) == 0
    quick.produce(topic, b"quick")
    quick.commit_transaction(30)
    assert read_to_the_end(bootstrap, topic) == []
    assert read_to_the_end(bootstrap, topic, isolation="read_uncommitted") == [b"slow", b"quick"]
    slow.abort_transaction(30)
    assert read_to_the_end(bootstrap, topic) == [b"quick"]


def test_a_transaction_over_many_partitions_of_several_topics_is_seen_at_once(
    node: EmbeddedKafka,
) -> None:
    topics = [node.topic(partitions=8) for _ in range(3)]
    producer = confluent_producer(node.bootstrap_servers, topics[0])
    producer.begin_transaction()
    for number, value in enumerate(_MANY):
        producer.produce(topics[number % 3], value, partition=number % 8)
    assert producer.flush(30) == 0
    for topic in topics:
        assert read_to_the_end(node.bootstrap_servers, topic, 8) == []
    producer.commit_transaction(30)
    found = [read_to_the_end(node.bootstrap_servers, topic, 8) for topic in topics]
    assert Counter(value for values in found for value in values) == Counter(_MANY)


def test_a_second_producer_fences_the_first(node: EmbeddedKafka) -> None:
    topic = node.topic()
    first = confluent_producer(node.bootstrap_servers, topic)
    first.begin_transaction()
    first.produce(topic, b"zombie")
    assert first.flush(30) == 0
    second = confluent_producer(node.bootstrap_servers, topic)
    second.begin_transaction()
    second.produce(topic, b"heir")
    second.commit_transaction(30)
    with pytest.raises(KafkaException) as refused:
        first.commit_transaction(30)
    assert refused.value.args[0].name() in ("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")
    assert read_to_the_end(node.bootstrap_servers, topic) == [b"heir"]


def test_an_abandoned_transaction_is_aborted_when_its_time_is_up(
    impatient: EmbeddedKafka,
) -> None:
    topic = impatient.topic()
    bootstrap = impatient.bootstrap_servers
    # The client insists on more time than this for its own requests.
    lost = confluent_producer(
        bootstrap, topic, **{"transaction.timeout.ms": 1000, "message.timeout.ms": 1000}
    )
    lost.begin_transaction()
    lost.produce(topic, b"lost")
    assert lost.flush(30) == 0
    other = Producer({"bootstrap.servers": bootstrap})
    other.produce(topic, b"behind it")
    assert other.flush(30) == 0
    deadline = time.monotonic() + 30
    while read_to_the_end(bootstrap, topic) != [b"behind it"]:
        assert time.monotonic() < deadline
    with pytest.raises(KafkaException):
        lost.commit_transaction(30)


def test_offsets_and_records_are_committed_together(node: EmbeddedKafka) -> None:
    """Consume, transform, produce: each input once, although every other attempt is aborted."""
    source, target = node.topic(), node.topic()
    bootstrap = node.bootstrap_servers
    feeder = Producer({"bootstrap.servers": bootstrap})
    for value in _MANY:
        feeder.produce(source, value)
    assert feeder.flush(30) == 0
    producer = confluent_producer(bootstrap, source)
    attempts = 0
    while _copy_some(bootstrap, source, target, producer, commit=attempts % 2 == 1):
        attempts += 1
    assert read_to_the_end(bootstrap, target) == _MANY
    assert attempts > 6


def _copy_some(
    bootstrap: str, source: str, target: str, producer: Producer, *, commit: bool
) -> int:
    """Copy the next records in one transaction, from where the group has committed."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"{source}-copiers",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "log_level": 0,
        }
    )
    try:
        place = TopicPartition(source, 0)
        (committed,) = consumer.committed([place], timeout=30)
        start = max(committed.offset, 0)
        _, end = consumer.get_watermark_offsets(place, timeout=30)
        if start == end:
            return 0
        consumer.assign([TopicPartition(source, 0, start)])
        producer.begin_transaction()
        wanted = min(70, end - start)
        copied = 0
        while copied < wanted:
            message = consumer.poll(30)
            assert message is not None
            assert message.error() is None, message.error()
            producer.produce(target, message.value())
            copied += 1
        position = [TopicPartition(source, 0, start + copied)]
        producer.send_offsets_to_transaction(position, consumer.consumer_group_metadata(), 30)
        if commit:
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)
        return copied
    finally:
        consumer.close()
