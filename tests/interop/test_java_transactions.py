"""Exactly-once with Apache Kafka's own programs, which use transaction.version 2."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from tests.clients.transactional import read_to_the_end
from tests.support.headrace_node import HeadraceNode
from tests.support.java import java_command, java_tool

PARTITIONS = 2
RECORDS = 2_000
_SETTINGS = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "3",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
    "group.initial.rebalance.delay.ms": "0",
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


def copier(node: HeadraceNode, partition: int) -> subprocess.Popen[str]:
    command = java_command(
        "TransactionalMessageCopier",
        *("--broker-list", node.bootstrap),
        *("--input-topic", "in", "--output-topic", "out"),
        *("--input-partition", str(partition)),
        *("--consumer-group", "copiers", "--transactional-id", f"copier-{partition}"),
        *("--transaction-size", "150", "--max-messages", str(RECORDS)),
        # A copier begins by asking where its group is, which what a killed one left open hides.
        *("--transaction-timeout", "2000"),
        "--enable-random-aborts",
    )
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def test_copiers_that_are_killed_lose_nothing_and_copy_nothing_twice(node: HeadraceNode) -> None:
    create(node, "in")
    create(node, "out")
    values = [b"%d" % number for number in range(RECORDS)]
    feeder = Producer({"bootstrap.servers": node.bootstrap})
    for number, value in enumerate(values):
        feeder.produce("in", value, partition=number % PARTITIONS)
    assert feeder.flush(30) == 0
    counts = Counter(read_to_the_end(node.bootstrap, "in", PARTITIONS))
    assert counts == Counter(values)
    running = [copier(node, partition) for partition in range(PARTITIONS)]
    for number, process in enumerate(running):
        assert process.stdout is not None
        # The first ones die in the middle of their work, and others take over.
        for line in process.stdout:
            if json.loads(line).get("totalProcessed", 0) > 200:
                break
        process.kill()
        process.communicate()
        running[number] = copier(node, number)
    for process in running:
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output
    assert Counter(read_to_the_end(node.bootstrap, "out", PARTITIONS)) == counts


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
