"""Static members: a restart under the same instance id disturbs nobody; two at once are fenced."""

from __future__ import annotations

from confluent_kafka import Consumer, KafkaError

from headrace.testing import EmbeddedKafka
from tests.clients.members import Board, ConfluentMember

PARTITIONS = 4


def test_a_static_member_that_restarts_gets_its_partitions_back_without_a_rebalance(
    node: EmbeddedKafka,
) -> None:
    topic, board = node.topic(partitions=PARTITIONS), Board()
    where = (node.bootstrap_servers, topic, f"static-{topic}")
    with ConfluentMember(board, "stays", *where, group_instance_id="one") as stays:
        with ConfluentMember(board, "restarts", *where, group_instance_id="two"):
            board.wait_for(lambda: board.shares(2, PARTITIONS))
            before = dict(board.partitions)
        revoked = stays.revoked
        with ConfluentMember(board, "restarts", *where, group_instance_id="two"):
            board.wait_for(lambda: board.partitions == before)
        assert stays.revoked == revoked


def test_of_two_clients_with_one_instance_id_the_older_is_fenced(node: EmbeddedKafka) -> None:
    topic, board = node.topic(partitions=PARTITIONS), Board()
    where = (node.bootstrap_servers, topic, f"fenced-{topic}")
    older = Consumer(
        {
            "bootstrap.servers": node.bootstrap_servers,
            "group.id": where[2],
            "group.instance.id": "one",
            "heartbeat.interval.ms": 100,
            "partition.assignment.strategy": "range",
            "log_level": 0,
        }
    )
    older.subscribe([topic])
    while not older.assignment():
        older.poll(0.05)
    with ConfluentMember(board, "newer", *where, group_instance_id="one"):
        board.wait_for(lambda: board.shares(1, PARTITIONS))
        told = None
        while told is None:
            message = older.poll(0.05)
            told = None if message is None else message.error()
        assert told.code() == KafkaError._FATAL
        assert "fenced" in told.str()
    older.close()
