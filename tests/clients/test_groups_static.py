"""Static members: a restart under the same instance id disturbs nobody; two at once are fenced."""

from __future__ import annotations

from confluent_kafka import Consumer, KafkaError, KafkaException

from headrace.testing import EmbeddedKafka
from tests.clients.members import PATIENCE_S, Board, ConfluentMember

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
    quick = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 100}
    settings = {
        "bootstrap.servers": node.bootstrap_servers,
        "group.id": where[2],
        "group.instance.id": "one",
        "heartbeat.interval.ms": 100,
        "partition.assignment.strategy": "range",
        "log_level": 0,
    }
    older = Consumer(settings)
    older.subscribe([topic])
    while not older.assignment():
        older.poll(0.05)
    with ConfluentMember(board, "newer", *where, group_instance_id="one", **quick):
        board.wait_for(lambda: board.shares(1, PARTITIONS))
        assert _fatal_error(older) == KafkaError._FENCED
    older.close()


def _fatal_error(consumer: Consumer) -> int:
    """The error that ends a consumer's life in its group."""
    for _ in range(PATIENCE_S * 20):
        try:
            message = consumer.poll(0.05)
        except KafkaException as failure:
            return int(failure.args[0].code())
        if message is not None and message.error() is not None and message.error().fatal():
            return int(message.error().code())
    raise AssertionError("nobody told it")
