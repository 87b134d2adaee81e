"""Exactly-once with Apache Kafka's own programs, which use transaction.version 2."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest
from confluent_kafka import Producer

from tests.support.headrace_node import HeadraceNode
from tests.support.java import java_command, java_tool
from tests.support.readiness import eventually
from tests.support.reading import read_topic
from tests.support.small_coordinators import SMALL_COORDINATORS

PARTITIONS = 2
#: More than a quick copier gets through while the other one starts: both have to be there to die.
RECORDS = 40_000
_SETTINGS = {
    **SMALL_COORDINATORS,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeadraceNode]:
    directory = tmp_path_factory.mktemp("java-transactions") / "data"
    with HeadraceNode(directory, settings=_SETTINGS) as running:
        yield running


def create(node: HeadraceNode, topic: str, partitions: int = PARTITIONS) -> None:
    java_tool(
        "TopicCommand",
        *("--create", "--topic", topic, "--partitions", str(partitions)),
        *("--bootstrap-server", node.bootstrap),
    )


class Copier:
    """Apache Kafka's program that copies one partition, in transactions some of which it aborts."""

    def __init__(self, node: HeadraceNode, partition: int) -> None:
        command = java_command(
            "TransactionalMessageCopier",
            *("--broker-list", node.bootstrap),
            *("--input-topic", "in", "--output-topic", "out"),
            *("--input-partition", str(partition)),
            *("--consumer-group", "copiers", "--transactional-id", f"copier-{partition}"),
            # Small ones, so that a quick copier is not done before the other one has started.
            *("--transaction-size", "20", "--max-messages", str(RECORDS)),
            # A copier begins by asking where its group is, which what a killed one left open hides.
            *("--transaction-timeout", "2000"),
            "--enable-random-aborts",
        )
        #: How many records are in transactions that it has committed.
        self.copied = 0
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                # The last line of a killed one may not be whole.
                with suppress(json.JSONDecodeError):
                    self.copied = json.loads(line).get("totalProcessed", self.copied)

    def kill(self) -> None:
        self._process.kill()
        self.wait()

    def wait(self) -> int:
        code = self._process.wait(120)
        self._reader.join(30)
        return code


def start_copiers(node: HeadraceNode, started: ExitStack) -> list[Copier]:
    """One for each partition; none of them outlives the test."""
    copiers = [Copier(node, partition) for partition in range(PARTITIONS)]
    for copier in copiers:
        started.callback(copier.kill)
    return copiers


def wait_for_more(copiers: list[Copier]) -> None:
    """Until each of them has committed some more transactions."""
    wanted = [copier.copied + 300 for copier in copiers]
    eventually(
        lambda: all(copier.copied >= more for copier, more in zip(copiers, wanted, strict=True)),
        timeout=60,
    )


def values_by_partition(node: HeadraceNode, topic: str) -> list[list[bytes | None]]:
    """What a read_committed consumer sees, in the order of the offsets."""
    records = read_topic(node, topic, partitions=PARTITIONS)
    return [[one.value for one in records if one.partition == n] for n in range(PARTITIONS)]


@pytest.mark.timeout(240)
@pytest.mark.no_second_chance
def test_kills_of_copiers_and_node_lose_nothing_double_nothing_and_keep_the_order(
    node: HeadraceNode,
) -> None:
    create(node, "in")
    create(node, "out")
    feeder = Producer({"bootstrap.servers": node.bootstrap})
    for number in range(RECORDS):
        feeder.produce("in", b"%d" % number, partition=number % PARTITIONS)
    assert feeder.flush(30) == 0
    with ExitStack() as started:
        copiers = start_copiers(node, started)
        for _ in range(2):
            wait_for_more(copiers)
            # The node dies under the transactions of both copiers, which go on afterwards.
            node.kill()
            node.start()
            wait_for_more(copiers)
            for copier in copiers:
                copier.kill()
            # What dead copiers left open outlives the node too; their successors have to end it.
            node.kill()
            node.start()
            copiers = start_copiers(node, started)
        assert [copier.wait() for copier in copiers] == [0] * PARTITIONS
    given = values_by_partition(node, "in")
    assert [len(values) for values in given] == [RECORDS // PARTITIONS] * PARTITIONS
    assert values_by_partition(node, "out") == given


def test_apaches_tools_see_the_transactions(node: HeadraceNode) -> None:
    create(node, "seen", 1)
    java_tool(
        "ProducerPerformance",
        *("--topic", "seen", "--num-records", "500", "--record-size", "10"),
        *("--throughput", "-1", "--transactional-id", "tool"),
        *("--transaction-duration-ms", "20"),
        *("--command-property", f"bootstrap.servers={node.bootstrap}"),
    )
    tool = ("TransactionsCommand", "--bootstrap-server", node.bootstrap)
    rows = [line.split() for line in java_tool(*tool, "list").stdout.splitlines()]
    assert ["tool", "1"] in [row[:2] for row in rows]
    described = java_tool(*tool, "describe", "--transactional-id", "tool").stdout
    assert "CompleteCommit" in described
    producers = java_tool(*tool, "describe-producers", "--topic", "seen", "--partition", "0").stdout
    assert len(producers.splitlines()) == 2
    hanging = java_tool(*tool, "find-hanging", "--broker-id", "1").stdout
    assert len([line for line in hanging.splitlines() if line.strip()]) == 1
