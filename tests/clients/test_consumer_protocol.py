"""Consumer groups of the new protocol (KIP-848) with librdkafka, and together with the old one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from headrace.testing import EmbeddedKafka
from tests.clients.client import Row
from tests.clients.confluent import Confluent
from tests.clients.members import (
    AioMember,
    Board,
    ConfluentMember,
    KafkaPythonMember,
    Member,
    tried_again_for_kafka_python,
)

PARTITIONS = 6


@pytest.fixture(scope="module")
def kafka() -> Iterator[EmbeddedKafka]:
    """A node that wants heartbeats often, and gives up on silent members soon."""
    settings = {
        "group.consumer.min.heartbeat.interval.ms": "100",
        "group.consumer.heartbeat.interval.ms": "200",
        "group.consumer.min.session.timeout.ms": "1000",
        "group.consumer.session.timeout.ms": "2000",
        "group.consumer.assignment.interval.ms": "100",
        "group.min.session.timeout.ms": "500",
    }
    with EmbeddedKafka(settings) as node:
        yield node


class NewMember(Member):
    """librdkafka with the new protocol; further settings as it names them."""

    kind = "consumer"

    def __init__(self, *args: Any, subscription: str | None = None, **settings: Any) -> None:
        super().__init__(*args)
        self._subscription = subscription
        self._settings = {name.replace("_", "."): value for name, value in settings.items()}

    def consume(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": self._group,
                "group.protocol": "consumer",
                "client.id": self.name,
                "auto.offset.reset": "earliest",
                "reconnect.backoff.max.ms": 100,
                "log_level": 0,
                **self._settings,
            }
        )
        consumer.subscribe([self._subscription or self._topic])
        while not self._stopped.is_set():
            messages = [one for one in consumer.consume(100, 0.05) if one.error() is None]
            held = frozenset(one.partition for one in consumer.assignment())
            self._board.note(self.name, held, [one.value() or b"" for one in messages])
        consumer.close()


def write(kafka: EmbeddedKafka, topic: str, count: int, mark: str = "") -> set[bytes]:
    """Records on all partitions; returns their values."""
    values = set()
    for partition in range(PARTITIONS):
        rows = [Row(f"{mark}{partition}-{number}".encode()) for number in range(count)]
        Confluent(kafka.bootstrap_servers).write(topic, rows, partition=partition)
        values |= {row.value for row in rows if row.value is not None}
    return values


def described(kafka: EmbeddedKafka, group: str) -> Any:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    return admin.describe_consumer_groups([group])[group].result(30)


def test_members_share_the_partitions_and_take_over_from_whoever_leaves(
    kafka: EmbeddedKafka,
) -> None:
    topic, board = kafka.topic(partitions=PARTITIONS), Board()
    where = (kafka.bootstrap_servers, topic, f"of-{topic}")
    written = write(kafka, topic, 20)
    with NewMember(board, "first", *where):
        board.wait_for(lambda: board.shares(1, PARTITIONS))
        with NewMember(board, "second", *where), NewMember(board, "third", *where):
            board.wait_for(lambda: board.shares(3, PARTITIONS))
            written |= write(kafka, topic, 20, "more-")
            board.wait_for(lambda: set(board.values) == written)
        board.wait_for(lambda: board.shares(1, PARTITIONS))
    assert len(board.values) == len(written), "nothing came twice"


def test_the_next_member_goes_on_where_the_last_one_committed(kafka: EmbeddedKafka) -> None:
    topic, board = kafka.topic(partitions=PARTITIONS), Board()
    where = (kafka.bootstrap_servers, topic, f"of-{topic}")
    written = write(kafka, topic, 10)
    with NewMember(board, "first", *where):
        board.wait_for(lambda: set(board.values) == written)
    more = write(kafka, topic, 10, "more-")
    with NewMember(board, "second", *where):
        board.wait_for(lambda: set(board.values) == written | more)
    assert len(board.values) == len(written) + len(more)


def test_a_regular_expression_finds_its_topics(kafka: EmbeddedKafka) -> None:
    board = Board()
    first = kafka.topic(partitions=PARTITIONS)
    second = kafka.create_topic(f"{first}-second", partitions=PARTITIONS)
    where = (kafka.bootstrap_servers, first, f"of-{first}")
    written = write(kafka, first, 5) | write(kafka, second, 5, "second-")
    with NewMember(board, "one", *where, subscription=f"^{re.escape(first)}.*"):
        board.wait_for(lambda: set(board.values) == written)


def test_both_server_side_assignors_serve(kafka: EmbeddedKafka) -> None:
    for assignor in ("uniform", "range"):
        topic, board = kafka.topic(partitions=PARTITIONS), Board()
        where = (kafka.bootstrap_servers, topic, f"of-{topic}")
        settings = {"group_remote_assignor": assignor}
        with (
            NewMember(board, "a", *where, **settings),
            NewMember(board, "b", *where, **settings),
        ):
            board.wait_for(partial(board.shares, 2, PARTITIONS))
            assert described(kafka, f"of-{topic}").partition_assignor == assignor


def test_a_static_member_comes_back_to_its_partitions(kafka: EmbeddedKafka) -> None:
    topic, board = kafka.topic(partitions=PARTITIONS), Board()
    where = (kafka.bootstrap_servers, topic, f"of-{topic}")
    write(kafka, topic, 1)
    with NewMember(board, "other", *where, group_instance_id="other"):
        with NewMember(board, "static", *where, group_instance_id="one"):
            board.wait_for(lambda: board.shares(2, PARTITIONS))
            had = board.partitions["static"]
        with NewMember(board, "static", *where, group_instance_id="one"):
            board.wait_for(lambda: board.shares(2, PARTITIONS))
            assert board.partitions["static"] == had


def test_new_partitions_find_an_owner(kafka: EmbeddedKafka) -> None:
    topic, board = kafka.topic(partitions=2), Board()
    where = (kafka.bootstrap_servers, topic, f"of-{topic}")
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    with NewMember(board, "a", *where), NewMember(board, "b", *where):
        board.wait_for(lambda: board.shares(2, 2))
        admin.create_partitions([NewPartitions(topic, PARTITIONS)])[topic].result(30)
        board.wait_for(lambda: board.shares(2, PARTITIONS))


@tried_again_for_kafka_python
@pytest.mark.parametrize("old", [ConfluentMember, KafkaPythonMember, AioMember])
def test_a_group_changes_its_protocol_while_members_are_active(
    old: type[Member], kafka: EmbeddedKafka
) -> None:
    topic, board = kafka.topic(partitions=PARTITIONS), Board()
    group = f"of-{topic}"
    where = (kafka.bootstrap_servers, topic, group)
    written = write(kafka, topic, 10)
    with ExitStack() as stack:
        stack.enter_context(old(board, "old-1", *where))
        stack.enter_context(old(board, "old-2", *where))
        board.wait_for(lambda: board.shares(2, PARTITIONS))
        assert described(kafka, group).type.name == "CLASSIC"
        with NewMember(board, "new", *where):
            board.wait_for(lambda: board.shares(3, PARTITIONS))
            assert described(kafka, group).type.name == "CONSUMER"
            written |= write(kafka, topic, 10, "mixed-")
            board.wait_for(lambda: set(board.values) == written)
        board.wait_for(lambda: board.shares(2, PARTITIONS))
        assert described(kafka, group).type.name == "CLASSIC"
        written |= write(kafka, topic, 10, "old-again-")
        board.wait_for(lambda: set(board.values) == written)
