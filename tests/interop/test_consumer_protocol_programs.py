"""Apache Kafka's own consumers with `group.protocol=consumer`, and its tool for groups."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.support.headrace_node import HeadraceNode, headrace
from tests.support.java import java_command, java_tool
from tests.support.readiness import eventually
from tests.support.tool_jvm import ToolJvm

PARTITIONS = 4
RECORDS = 200


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeadraceNode]:
    settings = {
        "offsets.topic.replication.factor": "1",
        "group.consumer.min.heartbeat.interval.ms": "100",
        "group.consumer.heartbeat.interval.ms": "500",
        "group.consumer.assignment.interval.ms": "100",
    }
    directory = tmp_path_factory.mktemp("consumer-protocol") / "data"
    with HeadraceNode(directory, settings=settings) as running:
        yield running


def filled(node: HeadraceNode, topic: str) -> str:
    server = ("--bootstrap-server", node.bootstrap)
    headrace("topics", "--create", "--topic", topic, "--partitions", str(PARTITIONS), *server)
    producer = Producer({"bootstrap.servers": node.bootstrap})
    for number in range(RECORDS):
        producer.produce(topic, str(number), partition=number % PARTITIONS)
    assert producer.flush(30) == 0
    return topic


@pytest.mark.parametrize(
    ("choice", "assignor"), [("--topic", "uniform"), ("--include", "range")], ids=["name", "regex"]
)
def test_the_console_consumer_reads_everything(
    choice: str, assignor: str, node: HeadraceNode
) -> None:
    topic = filled(node, f"console-{assignor}")
    done = java_tool(
        "ConsoleConsumer",
        *("--bootstrap-server", node.bootstrap, "--group", f"of-{topic}"),
        *(choice, topic if choice == "--topic" else f"{topic[:-1]}.*"),
        *("--from-beginning", "--max-messages", str(RECORDS), "--timeout-ms", "30000"),
        *("--command-property", "group.protocol=consumer"),
        *("--command-property", f"group.remote.assignor={assignor}"),
    )
    assert sorted(map(int, done.stdout.split())) == list(range(RECORDS))


class Verifiable:
    """A VerifiableConsumer that prints what happens to it, a JSON object a line."""

    def __init__(self, node: HeadraceNode, topic: str, output: Path) -> None:
        self._output = output
        command = java_command(
            "VerifiableConsumer",
            *("--bootstrap-server", node.bootstrap, "--topic", topic, "--group-id", f"of-{topic}"),
            *("--group-protocol", "consumer", "--reset-policy", "earliest", "--verbose"),
        )
        with output.open("w") as stream:
            self.process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT)

    def events(self, name: str) -> list[dict[str, Any]]:
        lines = (line for line in self._output.read_text().splitlines() if line.startswith("{"))
        return [event for event in map(json.loads, lines) if event["name"] == name]

    def read(self) -> list[int]:
        return [int(event["value"]) for event in self.events("record_data")]

    def owns(self) -> int:
        """How many partitions it has been given and not been asked back."""
        return self._count("partitions_assigned") - self._count("partitions_revoked")

    def _count(self, name: str) -> int:
        return sum(len(event["partitions"]) for event in self.events(name))

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)


def test_verifiable_consumers_share_a_topic_and_the_tool_shows_how(
    node: HeadraceNode, tools: ToolJvm, tmp_path: Path
) -> None:
    topic = filled(node, "verified")
    members = [Verifiable(node, topic, tmp_path / f"{number}.out") for number in range(2)]
    try:
        eventually(lambda: [one.owns() for one in members] == [2, 2], timeout=60)
        eventually(lambda: sum(len(one.read()) for one in members) >= RECORDS, timeout=60)
        group = ("--bootstrap-server", node.bootstrap, "--describe", "--group", f"of-{topic}")
        shown = tools.run("ConsumerGroupCommand", *group, "--members", "--verbose").stdout
        rows = [line.split() for line in shown.splitlines() if line.startswith("of-")]
        assert [row[4] for row in rows] == ["2", "2"]
        assert all(row[5] == row[7] for row in rows), "each has reached the target epoch"
        state = tools.run("ConsumerGroupCommand", *group, "--state").stdout
        assert "Stable" in state
        assert "uniform" in state
    finally:
        for one in members:
            one.stop()
    read = [value for one in members for value in one.read()]
    assert sorted(set(read)) == list(range(RECORDS))
    shown = tools.run("ConsumerGroupCommand", *group).stdout
    lags = [line.split()[5] for line in shown.splitlines() if line.startswith("of-")]
    assert lags == ["0"] * PARTITIONS
