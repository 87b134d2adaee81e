"""Our own group member beside Java's `VerifiableConsumer` and confluent-kafka, in one group."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from confluent_kafka import Consumer

from headrace.testing import EmbeddedKafka
from tests.support.java import java_command

PARTITIONS = 6


@pytest.fixture(scope="module")
def kafka() -> Iterator[EmbeddedKafka]:
    settings = {
        "group.initial.rebalance.delay.ms": "0",
        "group.consumer.heartbeat.interval.ms": "500",
        "group.consumer.min.heartbeat.interval.ms": "500",
    }
    with EmbeddedKafka(settings) as node:
        yield node


@contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=30)


def options(kafka: EmbeddedKafka, topic: str, *extra: str) -> list[str]:
    given = ["--bootstrap-server", kafka.bootstrap_servers, "--topic", topic]
    return [*given, "--group-id", topic, *extra]


def ours(kafka: EmbeddedKafka, topic: str, *extra: str) -> list[str]:
    tool = [sys.executable, "-m", "headrace.cli.main", "verifiable-consumer"]
    return [*tool, *options(kafka, topic, *extra)]


def theirs(kafka: EmbeddedKafka, topic: str, *extra: str) -> list[str]:
    return java_command("VerifiableConsumer", *options(kafka, topic, *extra))


def until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, what


def is_shared(kafka: EmbeddedKafka, group: str, members: int) -> bool:
    """Every member has its share, and no partition has two owners."""
    found = kafka.wait_for_group(group, members, timeout=60)
    shares = [member.assignment for member in found.members]
    counted = sum(map(len, shares))
    return counted == len(set().union(*shares)) == PARTITIONS and all(shares)


def member_options(way: str) -> tuple[str, ...]:
    if way == "consumer":
        return ("--group-protocol", "consumer")
    return (
        "--session-timeout",
        "10000",
        "--assignment-strategy",
        f"org.apache.kafka.clients.consumer.{way}",
    )


@pytest.mark.parametrize(
    "way",
    [
        "RangeAssignor",
        "RoundRobinAssignor",
        "StickyAssignor",
        "CooperativeStickyAssignor",
        "consumer",
    ],
)
@pytest.mark.parametrize("we_lead", [True, False], ids=["we came first", "java came first"])
def test_java_and_our_member_share_a_group(kafka: EmbeddedKafka, way: str, we_lead: bool) -> None:
    topic = kafka.topic(PARTITIONS)
    kafka.produce(topic, [str(n) for n in range(60)], keys=[str(n) for n in range(60)])
    commands = [each(kafka, topic, *member_options(way)) for each in (ours, theirs)]
    if not we_lead:
        commands.reverse()
    with ExitStack() as stack:
        stack.enter_context(running(commands[0]))
        kafka.wait_for_group(topic, 1, timeout=60)
        second = stack.enter_context(running(commands[1]))
        until(lambda: is_shared(kafka, topic, 2), "not shared out")
        second.terminate()
        until(lambda: is_shared(kafka, topic, 1), "not taken over")
        until(lambda: sum(kafka.committed(topic).values()) == 60, "not all committed")


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_librdkafka_and_our_member_share_a_group(kafka: EmbeddedKafka, protocol: str) -> None:
    topic = kafka.topic(PARTITIONS)
    settings: dict[str, str | int] = {
        "bootstrap.servers": kafka.bootstrap_servers,
        "group.id": topic,
        "group.protocol": protocol,
    }
    extra: tuple[str, ...] = ("--group-protocol", protocol)
    if protocol == "classic":
        settings["partition.assignment.strategy"] = "cooperative-sticky"
        extra += ("--assignment-strategy", "cooperative-sticky")
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    try:
        until(lambda: consumer.poll(0.1) or consumer.assignment(), "no assignment")
        with running(ours(kafka, topic, *extra)) as process:
            until(lambda: consumer.poll(0.1) or len(consumer.assignment()) == 3, "not shared out")
            until(lambda: is_shared(kafka, topic, 2), "not shared out")
            process.terminate()
            out, _ = process.communicate(timeout=30)
            names = [json.loads(line)["name"] for line in out.splitlines()]
            assert names[-2:] == ["partitions_revoked", "shutdown_complete"]
            until(lambda: consumer.poll(0.1) or len(consumer.assignment()) == 6, "not taken over")
    finally:
        consumer.close()
