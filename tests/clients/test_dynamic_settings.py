"""Settings of a broker that are changed while it runs, by the tool that administrators use."""

from __future__ import annotations

from contextlib import ExitStack

from confluent_kafka import Producer

from headrace.testing import EmbeddedKafka
from tests.support.headrace_node import headrace
from tests.support.raw_socket import RawSocket
from tests.support.readiness import eventually
from tests.support.talk import client_of, consume

#: So that nothing is compacted unless somebody changes it.
_NEVER = {"log.cleaner.backoff.ms": "86400000"}
_DIRTY = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0", "segment.ms": "1"}


def configs(kafka: EmbeddedKafka, *arguments: str) -> str:
    return headrace("configs", "--bootstrap-server", kafka.bootstrap_servers, *arguments).stdout


def test_limits_and_the_cleaner_follow_at_once_and_after_a_restart() -> None:
    with EmbeddedKafka(_NEVER) as kafka:
        topic = kafka.topic(configs=_DIRTY)
        assert admitted(kafka) == 25
        put_two_keys(kafka, topic, from_second=1)
        assert count(kafka, topic) == 20
        settings = "max.connections.per.ip=20,log.cleaner.backoff.ms=100"
        default = ("--entity-type", "brokers", "--entity-default")
        configs(kafka, "--alter", *default, "--add-config", settings)
        assert admitted(kafka) <= 20
        eventually(lambda: count(kafka, topic) < 10)

        kafka.restart()
        assert admitted(kafka) <= 20
        before = count(kafka, topic)
        put_two_keys(kafka, topic, from_second=100)
        eventually(lambda: count(kafka, topic) <= before)

        configs(kafka, "--alter", *default, "--delete-config", "max.connections.per.ip")
        assert admitted(kafka) == 25


def admitted(kafka: EmbeddedKafka) -> int:
    """How many of some connections are served, all at once."""
    port = int(kafka.bootstrap_servers.rpartition(":")[2])
    with ExitStack() as opened:
        sockets = [opened.enter_context(RawSocket(port)) for _ in range(25)]
        return sum(one.is_alive() for one in sockets)


def put_two_keys(kafka: EmbeddedKafka, topic: str, from_second: int) -> None:
    """Twenty values in as many segments."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for number in range(20):
        timestamp = (from_second + number) * 1000
        producer.produce(topic, b"%d" % number, b"key-%d" % (number % 2), timestamp=timestamp)
        assert producer.flush(30) == 0


def count(kafka: EmbeddedKafka, topic: str) -> int:
    with client_of(kafka.bootstrap_servers) as client:
        return len(consume(client, topic))


def test_levels_of_loggers_are_set_until_the_node_ends() -> None:
    with EmbeddedKafka() as kafka:
        logger = ("--broker-logger", "1")
        assert "  headrace=WARN " in configs(kafka, "--describe", *logger)
        configs(kafka, "--alter", *logger, "--add-config", "headrace=DEBUG")
        assert "  headrace=DEBUG " in configs(kafka, "--describe", *logger)
        assert "  headrace.server.node=DEBUG " in configs(kafka, "--describe", *logger)
        configs(kafka, "--alter", *logger, "--delete-config", "headrace")
        assert "  headrace=WARN " in configs(kafka, "--describe", *logger)
        configs(kafka, "--alter", *logger, "--add-config", "headrace=ERROR")
        kafka.restart()
        assert "  headrace=WARN " in configs(kafka, "--describe", *logger)
