"""Several members of one group, of one library and of all of them at once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from headrace.testing import EmbeddedKafka
from tests.clients.client import Row
from tests.clients.confluent import Confluent
from tests.clients.members import (
    AioMember,
    AioRangeMember,
    AioRoundRobinMember,
    Board,
    ConfluentMember,
    KafkaPythonMember,
    KafkaPythonRange,
    KafkaPythonRoundRobin,
    Member,
    tried_again_for_kafka_python,
)

PARTITIONS = 6

MakeMember = Callable[..., Member]
KINDS: list[MakeMember] = [ConfluentMember, KafkaPythonMember, AioMember]


@pytest.fixture(scope="module")
def kafka() -> Iterator[EmbeddedKafka]:
    """A node that gives up on silent members soon."""
    settings = {"group.min.session.timeout.ms": "500"}
    with EmbeddedKafka(settings) as node:
        yield node


def write(kafka: EmbeddedKafka, topic: str, count: int, mark: str = "") -> set[bytes]:
    """Records on all partitions; returns their values."""
    values = set()
    for partition in range(PARTITIONS):
        rows = [Row(f"{mark}{partition}-{number}".encode()) for number in range(count)]
        Confluent(kafka.bootstrap_servers).write(topic, rows, partition=partition)
        values |= {row.value for row in rows if row.value is not None}
    return values


@tried_again_for_kafka_python
@pytest.mark.parametrize("kind", KINDS, ids=["confluent", "kafka-python", "aiokafka"])
def test_members_share_the_partitions_and_take_over_from_whoever_leaves(
    kind: MakeMember, kafka: EmbeddedKafka
) -> None:
    topic, board = kafka.topic(partitions=PARTITIONS), Board()
    where = (kafka.bootstrap_servers, topic, f"of-{topic}")
    written = write(kafka, topic, 20)
    with kind(board, "first", *where):
        board.wait_for(lambda: board.shares(1, PARTITIONS))
        with kind(board, "second", *where):
            board.wait_for(lambda: board.shares(2, PARTITIONS))
            written |= write(kafka, topic, 20, "shared-")
            board.wait_for(lambda: set(board.values) == written)
        board.wait_for(lambda: board.shares(1, PARTITIONS))
        written |= write(kafka, topic, 20, "alone-")
        board.wait_for(lambda: set(board.values) == written)


@tried_again_for_kafka_python
@pytest.mark.parametrize(
    "kinds",
    [
        [ConfluentMember, KafkaPythonRange, AioRangeMember],
        [
            lambda *args: ConfluentMember(*args, partition_assignment_strategy="roundrobin"),
            KafkaPythonRoundRobin,
            AioRoundRobinMember,
        ],
    ],
    ids=["range", "roundrobin"],
)
def test_three_libraries_are_one_group(kinds: list[MakeMember], kafka: EmbeddedKafka) -> None:
    topic, board = kafka.topic(partitions=PARTITIONS), Board()
    where = (kafka.bootstrap_servers, topic, f"mixed-{topic}")
    with ExitStack() as stack:
        for number, kind in enumerate(kinds):
            stack.enter_context(kind(board, f"member-{number}", *where))
        board.wait_for(lambda: board.shares(3, PARTITIONS))
        written = write(kafka, topic, 20)
        board.wait_for(lambda: set(board.values) >= written)
        assert len(board.values) == len(written)
        assert {board.readers[value] for value in written} == set(board.partitions)


def test_members_that_cooperate_keep_what_they_have(kafka: EmbeddedKafka) -> None:
    topic, board = kafka.topic(partitions=PARTITIONS), Board()
    where = (kafka.bootstrap_servers, topic, f"sticky-{topic}")
    settings: dict[str, Any] = {"partition_assignment_strategy": "cooperative-sticky"}
    with ConfluentMember(board, "first", *where, **settings):
        board.wait_for(lambda: board.shares(1, PARTITIONS))
        with ConfluentMember(board, "second", *where, **settings):
            board.wait_for(lambda: board.shares(2, PARTITIONS))
            kept = board.partitions["first"]
            with ConfluentMember(board, "third", *where, **settings):
                board.wait_for(lambda: board.shares(3, PARTITIONS))
                assert board.partitions["first"] < kept


@tried_again_for_kafka_python
def test_members_with_different_protocols_agree_on_the_one_they_share(
    kafka: EmbeddedKafka,
) -> None:
    topic, board = kafka.topic(partitions=PARTITIONS), Board()
    where = (kafka.bootstrap_servers, topic, f"vote-{topic}")
    both = {"partition_assignment_strategy": "roundrobin,range"}
    with ConfluentMember(board, "both", *where, **both):
        board.wait_for(lambda: board.shares(1, PARTITIONS))
        with KafkaPythonRange(board, "range", *where):
            board.wait_for(lambda: board.shares(2, PARTITIONS))
            assert frozenset({0, 1, 2}) in board.partitions.values()


_SILENT_MEMBER = """
import sys
from confluent_kafka import Consumer
bootstrap, topic, group = sys.argv[1:]
consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group,
                     "session.timeout.ms": 1000, "heartbeat.interval.ms": 100,
                     "partition.assignment.strategy": "range"})
consumer.subscribe([topic])
while True:
    consumer.poll(0.05)
    if consumer.assignment():
        print(len(consumer.assignment()), flush=True)
"""


def test_the_partitions_of_a_killed_member_go_to_the_others(kafka: EmbeddedKafka) -> None:
    topic, board = kafka.topic(partitions=PARTITIONS), Board()
    where = (kafka.bootstrap_servers, topic, f"killed-{topic}")
    quick = {"session_timeout_ms": 1000, "heartbeat_interval_ms": 100}
    with ConfluentMember(board, "survivor", *where, **quick):
        board.wait_for(lambda: board.shares(1, PARTITIONS))
        process = subprocess.Popen(
            [sys.executable, "-c", _SILENT_MEMBER, *where], stdout=subprocess.PIPE, text=True
        )
        try:
            board.wait_for(lambda: len(board.partitions["survivor"]) == PARTITIONS // 2)
            assert process.stdout is not None
            assert process.stdout.readline() == f"{PARTITIONS // 2}\n"
        finally:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
        board.wait_for(lambda: board.shares(1, PARTITIONS))
