"""A node that stops or dies in the middle of transactions tears none of them."""

from __future__ import annotations

import threading
import time

import pytest
from confluent_kafka import KafkaException, Producer

from headrace.testing import EmbeddedKafka
from tests.clients.transactional import confluent_producer, read_to_the_end

pytestmark = pytest.mark.no_second_chance

ENDS = ["stop", "kill"]


@pytest.mark.parametrize("end", ENDS)
def test_an_open_transaction_outlives_a_restart_and_is_committed(end: str) -> None:
    with EmbeddedKafka() as kafka:
        topic = kafka.topic(partitions=2)
        producer = confluent_producer(kafka.bootstrap_servers, "t")
        producer.begin_transaction()
        producer.produce(topic, b"before", partition=0)
        assert producer.flush(30) == 0
        getattr(kafka, end)()
        kafka.start()
        assert read_to_the_end(kafka.bootstrap_servers, topic, 2) == []
        producer.produce(topic, b"after", partition=1)
        producer.commit_transaction(60)
        assert sorted(read_to_the_end(kafka.bootstrap_servers, topic, 2)) == [b"after", b"before"]
        # And it goes on.
        producer.begin_transaction()
        producer.produce(topic, b"next", partition=0)
        producer.commit_transaction(60)
        assert len(read_to_the_end(kafka.bootstrap_servers, topic, 2)) == 3


@pytest.mark.parametrize("end", ENDS)
def test_what_was_committed_stays_and_what_was_left_open_goes(end: str) -> None:
    with EmbeddedKafka() as kafka:
        topic = kafka.topic()
        producer = confluent_producer(kafka.bootstrap_servers, "t")
        for number in range(3):
            producer.begin_transaction()
            producer.produce(topic, b"%d" % number)
            producer.commit_transaction(60)
        producer.begin_transaction()
        producer.produce(topic, b"left open")
        assert producer.flush(30) == 0
        getattr(kafka, end)()
        kafka.start()
        # Another one takes the id over and so aborts what was left.
        heir = confluent_producer(kafka.bootstrap_servers, "t")
        heir.begin_transaction()
        heir.produce(topic, b"3")
        heir.commit_transaction(60)
        assert read_to_the_end(kafka.bootstrap_servers, topic) == [b"0", b"1", b"2", b"3"]


PARTITIONS = 3


class Writer(threading.Thread):
    """Writes its number into every partition, transaction after transaction, come what may."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__(daemon=True)
        self._servers = bootstrap
        self._topic = topic
        self._producer: Producer | None = None
        self.is_stopping = False
        self.committed: set[int] = set()
        self.aborted: set[int] = set()
        self.unknown: set[int] = set()

    def run(self) -> None:
        number = 0
        while not self.is_stopping:
            number += 1
            try:
                if self._producer is None:
                    self._producer = confluent_producer(self._servers, "writer")
                self._write(self._producer, number)
            except KafkaException as error:
                self._after(error, number)

    def _write(self, producer: Producer, number: int) -> None:
        producer.begin_transaction()
        for index in range(PARTITIONS):
            producer.produce(self._topic, b"%d" % number, partition=index)
        if number % 5 == 0:
            producer.flush(30)
            producer.abort_transaction(60)
            self.aborted.add(number)
        else:
            producer.commit_transaction(60)
            self.committed.add(number)

    def _after(self, error: KafkaException, number: int) -> None:
        """Nobody knows what became of the transaction, unless it can be aborted."""
        self.unknown.add(number)
        if self._producer is not None and error.args[0].txn_requires_abort():
            try:
                self._producer.abort_transaction(60)
            except KafkaException:
                self._producer = None
            else:
                self.unknown.discard(number)
                self.aborted.add(number)
        else:
            self._producer = None

    def wait_for(self, count: int) -> None:
        """Until so many transactions are committed."""
        deadline = time.monotonic() + 60
        while len(self.committed) < count:
            assert time.monotonic() < deadline
            assert self.is_alive()
            time.sleep(0.001)


def test_a_node_killed_again_and_again_leaves_every_transaction_whole() -> None:
    with EmbeddedKafka() as kafka:
        topic = kafka.topic(partitions=PARTITIONS)
        writer = Writer(kafka.bootstrap_servers, topic)
        writer.start()
        for _ in range(4):
            writer.wait_for(len(writer.committed) + 30)
            kafka.kill()
            kafka.start()
        writer.wait_for(len(writer.committed) + 10)
        writer.is_stopping = True
        writer.join(60)
        # Whatever it left open is aborted by the one that takes over.
        confluent_producer(kafka.bootstrap_servers, "writer")
        values = read_to_the_end(kafka.bootstrap_servers, topic, PARTITIONS)
        seen = [int(value) for value in values]
        counts = {number: seen.count(number) for number in set(seen)}
        assert set(counts.values()) == {PARTITIONS}, "torn"
        assert writer.committed <= counts.keys(), "lost"
        assert not writer.aborted & counts.keys(), "aborted, but read"
        assert counts.keys() <= writer.committed | writer.unknown
