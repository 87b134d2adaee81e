"""Apache Kafka's own programs in groups of a Headrace node."""

import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.support.apache_kafka import ApacheKafka
from tests.support.headrace_node import HeadraceNode
from tests.support.java import java_command
from tests.support.node import Node
from tests.support.tool_jvm import ToolJvm
from tests.support.transcript import Line, play

PARTITIONS = 4


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory, apache: ApacheKafka) -> Iterator[HeadraceNode]:
    directory = tmp_path_factory.mktemp("groups") / "data"
    with HeadraceNode(directory, settings=apache.default_settings()) as running:
        yield running


def fill(node: Node, tools: ToolJvm, topic: str, count: int) -> None:
    tools.run(
        "TopicCommand", "--create", "--topic", topic, "--partitions", str(PARTITIONS),
        "--bootstrap-server", node.bootstrap,
    )  # fmt: skip
    producer = Producer({"bootstrap.servers": node.bootstrap})
    for number in range(count):
        producer.produce(
            topic, f"v{number}", partition=number % PARTITIONS, timestamp=1000 + number
        )
    assert producer.flush(20) == 0


def test_the_console_consumer_goes_on_where_its_group_was(
    node: HeadraceNode, tools: ToolJvm
) -> None:
    fill(node, tools, "console", 40)
    arguments = (
        "--bootstrap-server", node.bootstrap, "--topic", "console", "--group", "console-group",
        "--from-beginning", "--timeout-ms", "20000", "--max-messages",
    )  # fmt: skip
    first = tools.run("ConsoleConsumer", *arguments, "15").stdout.split()
    second = tools.run("ConsoleConsumer", *arguments, "25").stdout.split()
    assert sorted(first + second) == sorted(f"v{number}" for number in range(40))
    assert len(first) == 15


def commit(node: Node, group: str, topic: str, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": group})
    offsets = [TopicPartition(topic, index, offset + index) for index in range(PARTITIONS)]
    consumer.commit(offsets=offsets, asynchronous=False)
    consumer.close()


_GROUP_SCRIPT = """
    ConsumerGroupCommand --list
    ConsumerGroupCommand --list --state
    ConsumerGroupCommand --list --type classic
    ConsumerGroupCommand --list --state Stable
    ConsumerGroupCommand --describe --group idle
    ConsumerGroupCommand --describe --group idle --state
    ConsumerGroupCommand --describe --group idle --members
    ConsumerGroupCommand --describe --all-groups --offsets
    ConsumerGroupCommand --describe --group nobody
    ConsumerGroupCommand --reset-offsets --group idle --topic script --to-latest --dry-run
    ConsumerGroupCommand --reset-offsets --group idle --topic script:1,2 --to-earliest --execute
    ConsumerGroupCommand --describe --group idle
    ConsumerGroupCommand --reset-offsets --group fresh --topic script --to-offset 3 --execute
    ConsumerGroupCommand --reset-offsets --group fresh --all-topics --shift-by 2 --execute
    ConsumerGroupCommand --reset-offsets --group fresh --topic script --by-duration PT1H --execute
    ConsumerGroupCommand --describe --group fresh
    ConsumerGroupCommand --delete-offsets --group idle --topic script:0,3
    ConsumerGroupCommand --describe --group idle
    ConsumerGroupCommand --delete-offsets --group idle --topic unknown
    ConsumerGroupCommand --delete-offsets --group nobody --topic script
    ConsumerGroupCommand --delete --group idle
    ConsumerGroupCommand --delete --group nobody
    ConsumerGroupCommand --list
    GroupsCommand --list
    TopicCommand --describe --topic __consumer_offsets
"""


def test_the_group_command_prints_the_same_as_with_apache(tmp_path: Path, tools: ToolJvm) -> None:
    played: list[list[Line]] = []
    settings = ApacheKafka(tmp_path / "unused").default_settings()
    for kind in (ApacheKafka, HeadraceNode):
        with kind(tmp_path / kind.kind, settings=settings) as one:
            fill(one, tools, "script", 80)
            commit(one, "idle", "script", 5)
            played.append(play(_GROUP_SCRIPT, one, tools))
    theirs, ours = played
    for our_line, their_line in zip(ours, theirs, strict=True):
        assert our_line == their_line


class VerifiableConsumer:
    """Apache's consumer for system tests; what it prints goes into a queue."""

    def __init__(
        self, node: Node, group: str, topic: str, events: "Queue[Any]", *more: str
    ) -> None:
        command = java_command(
            "VerifiableConsumer", "--bootstrap-server", node.bootstrap, "--group-id", group,
            "--topic", topic, "--reset-policy", "earliest", *more,
        )  # fmt: skip
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._reader = threading.Thread(target=self._read, args=(events,), daemon=True)
        self._reader.start()
        self.last = ""

    def _read(self, events: "Queue[Any]") -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event = json.loads(line)
            self.last = event["name"]
            events.put(event)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(30)
        self._reader.join(30)
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.mark.parametrize(
    "assignor",
    ["RangeAssignor", "RoundRobinAssignor", "StickyAssignor", "CooperativeStickyAssignor"],
)
def test_two_verifiable_consumers_share_a_topic(
    assignor: str, node: HeadraceNode, tools: ToolJvm
) -> None:
    topic = f"verified-{assignor}"
    fill(node, tools, topic, 400)
    chosen = ("--assignment-strategy", f"org.apache.kafka.clients.consumer.{assignor}")
    events: Queue[Any] = Queue()
    consumers = [VerifiableConsumer(node, f"by-{topic}", topic, events, *chosen) for _ in range(2)]
    read: dict[int, set[int]] = {}
    try:
        while sum(map(len, read.values())) < 400:
            event = events.get(timeout=60)
            if event["name"] == "records_consumed":
                for one in event["partitions"]:
                    offsets = range(one["minOffset"], one["maxOffset"] + 1)
                    read.setdefault(one["partition"], set()).update(offsets)
            elif event["name"] == "offsets_committed":
                assert event["success"], event
    finally:
        for consumer in consumers:
            consumer.stop()
    assert read == {index: set(range(100)) for index in range(PARTITIONS)}
    assert [consumer.last for consumer in consumers] == ["shutdown_complete"] * 2


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_consumer_performance_reads_everything_and_commits(
    protocol: str, node: HeadraceNode, tools: ToolJvm
) -> None:
    topic, group = f"measured-{protocol}", f"measuring-{protocol}"
    fill(node, tools, topic, 2000)
    done = tools.run(
        "ConsumerPerformance", "--bootstrap-server", node.bootstrap, "--topic", topic,
        "--group", group, "--messages", "2000", "--timeout", "30000", "--hide-header",
        "--command-property", f"group.protocol={protocol}",
    )  # fmt: skip
    (figures,) = (line.split(", ") for line in done.stdout.splitlines() if line.startswith("20"))
    assert figures[4] == "2000"
    command = ("--describe", "--group", group, "--bootstrap-server", node.bootstrap)
    shown = tools.run("ConsumerGroupCommand", *command).stdout
    rows = [line.split() for line in shown.splitlines() if line.startswith(group)]
    assert [row[5] for row in rows] == ["0"] * PARTITIONS


@pytest.mark.timeout(300)
@pytest.mark.no_second_chance
def test_groups_go_on_when_the_other_side_takes_over_the_directory(
    tmp_path: Path, tools: ToolJvm
) -> None:
    """Headrace, Apache, Headrace: the committed offsets are those that the last one left."""
    directory = tmp_path / "data"
    described: list[str] = []
    settings = ApacheKafka(tmp_path / "unused").default_settings()
    for turn, kind in enumerate((HeadraceNode, ApacheKafka, HeadraceNode)):
        with kind(directory, settings=settings) as node:
            if turn == 0:
                fill(node, tools, "moved", 80)
            else:
                now = _offsets(node, tools)
                assert now == described[-1]
            for group in ("one", "two"):
                commit(node, group, "moved", turn + 1)
            tools.run(
                "ConsoleConsumer", "--bootstrap-server", node.bootstrap, "--topic", "moved",
                "--group", "reader", "--from-beginning", "--max-messages", "20",
                "--timeout-ms", "20000",
            )  # fmt: skip
            described.append(_offsets(node, tools))
    assert len(set(described)) == 3


def _offsets(node: Node, tools: ToolJvm) -> str:
    command = ("--describe", "--all-groups", "--bootstrap-server", node.bootstrap)
    lines = tools.run("ConsumerGroupCommand", *command).stdout.splitlines()
    return "\n".join(sorted(line for line in lines if line.strip()))
