"""Groups while the node goes away and comes back: offsets and memberships are in the log."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, TopicPartition

from headrace.testing import EmbeddedKafka
from tests.clients.client import Row
from tests.clients.confluent import Confluent
from tests.clients.members import Board, ConfluentMember

pytestmark = pytest.mark.no_second_chance

PARTITIONS = 4


def offsets_consumer(kafka: EmbeddedKafka, group: str) -> Consumer:
    """For commits by hand."""
    return Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": group,
            "enable.auto.commit": False,
            "reconnect.backoff.max.ms": 100,
            "log_level": 0,
        }
    )


def committed(consumer: Consumer, topic: str) -> list[tuple[int, str | None]]:
    places = [TopicPartition(topic, index) for index in range(PARTITIONS)]
    return [(one.offset, one.metadata) for one in consumer.committed(places, timeout=30)]


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_committed_offsets_and_their_notes_survive(end: str) -> None:
    with EmbeddedKafka() as kafka:
        topic = kafka.topic(partitions=PARTITIONS)
        for generation in range(3):
            expected = []
            for group in ("one", "two", "three"):
                consumer = offsets_consumer(kafka, group)
                offsets = [
                    TopicPartition(topic, index, 100 * generation + index, f"{group}-{index}")
                    for index in range(PARTITIONS)
                ]
                consumer.commit(offsets=offsets, asynchronous=False)
                consumer.close()
                expected.append([(one.offset, one.metadata) for one in offsets])
            getattr(kafka, end)()
            kafka.start()
            found = []
            for group in ("one", "two", "three"):
                consumer = offsets_consumer(kafka, group)
                found.append(committed(consumer, topic))
                consumer.close()
            assert found == expected


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_members_go_on_with_their_partitions_after_a_restart(end: str) -> None:
    with EmbeddedKafka() as kafka:
        topic, board = kafka.topic(partitions=PARTITIONS), Board()
        where = (kafka.bootstrap_servers, topic, "group")
        with (
            ConfluentMember(board, "first", *where) as first,
            ConfluentMember(board, "second", *where) as second,
        ):
            board.wait_for(lambda: board.shares(2, PARTITIONS))
            before, revoked = dict(board.partitions), (first.revoked, second.revoked)
            getattr(kafka, end)()
            kafka.start()
            written = set()
            for index in range(PARTITIONS):
                rows = [Row(b"%d-%d" % (index, number)) for number in range(10)]
                Confluent(kafka.bootstrap_servers).write(topic, rows, partition=index)
                written |= {row.value for row in rows}
            board.wait_for(lambda: set(board.values) == written)
            assert board.partitions == before
            assert (first.revoked, second.revoked) == revoked


def test_every_acknowledged_commit_survives_a_kill() -> None:
    with EmbeddedKafka() as kafka:
        topic = kafka.topic(partitions=PARTITIONS)
        consumer = offsets_consumer(kafka, "group")
        last = 0
        for round_number in range(3):
            for _ in range(50):
                last += 1
                at = TopicPartition(topic, 0, last, f"in round {round_number}")
                consumer.commit(offsets=[at], asynchronous=False)
            kafka.kill()
            kafka.start()
            assert committed(consumer, topic)[0] == (last, f"in round {round_number}")
        consumer.close()
