"""Apache Kafka's own tools say of a Headrace node what they say of an Apache node."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.support.apache_kafka import ApacheKafka
from tests.support.headrace_node import HeadraceNode
from tests.support.node import Node
from tests.support.tool_jvm import ToolJvm
from tests.support.transcript import play
from tests.support.workload import create_topic

_SCRIPTS = sorted(Path(__file__).with_name("tool_scripts").glob("*.txt"))
T0 = 1_700_000_000_000


@dataclass(frozen=True, slots=True)
class Peers:
    """A node of either kind with the same settings, and the tools to ask them with."""

    apache: ApacheKafka
    headrace: HeadraceNode
    tools: ToolJvm

    def must_agree(self, script: str) -> None:
        """Play a script on both; exit codes and texts are the same, line by line."""
        theirs = play(script, self.apache, self.tools)
        ours = play(script, self.headrace, self.tools)
        for our_line, their_line in zip(ours, theirs, strict=True):
            assert our_line.output == their_line.output, our_line.command
            assert our_line == their_line

    @property
    def nodes(self) -> tuple[Node, Node]:
        return self.apache, self.headrace


@pytest.fixture(scope="module")
def peers(tmp_path_factory: pytest.TempPathFactory, tools: ToolJvm) -> Iterator[Peers]:
    base = tmp_path_factory.mktemp("peers")
    apache = ApacheKafka(base / "apache", heap="512M")
    headrace = HeadraceNode(base / "headrace", settings=apache.default_settings())
    with apache, headrace:
        yield Peers(apache, headrace, tools)


def _write(node: Node, topic: str, timestamps: list[int]) -> None:
    """Records with timestamps that no clock has a say in."""
    producer = Producer({"bootstrap.servers": node.bootstrap, "linger.ms": 1000})
    for number, timestamp in enumerate(timestamps):
        producer.produce(topic, f"v{number}", f"k{number}", timestamp=timestamp, partition=0)
    assert producer.flush(20) == 0


@pytest.mark.parametrize("script", _SCRIPTS, ids=lambda path: path.stem)
def test_what_the_tools_say(script: Path, peers: Peers) -> None:
    peers.must_agree(script.read_text())


@pytest.mark.parametrize(
    "time",
    [
        *("-1", "-2", "-3", "-4", "-5", "-6"),
        *("latest", "earliest", "max-timestamp", "earliest-local", "latest-tiered"),
        *("0", str(T0 + 5), str(T0 + 6), str(T0 + 9), str(T0 + 10)),
    ],
)
def test_offsets_by_any_form_of_time(time: str, peers: Peers) -> None:
    topic = f"timed-{time.strip('-')}-{time.count('-')}"
    for node in peers.nodes:
        _write(node, topic, [T0 + 5, T0 + 2, T0 + 9, T0 + 9, T0 + 1])
    peers.must_agree(f"GetOffsetShell --topic {topic} --time {time}")


def test_records_are_deleted_up_to_an_offset(peers: Peers, tmp_path: Path) -> None:
    offsets = tmp_path / "offsets.json"
    wanted = [("cut", 0, 2), ("cut", 1, -1), ("cut", 2, 100), ("cut-compacted", 0, 1)]
    partitions = [{"topic": t, "partition": p, "offset": o} for t, p, o in wanted]
    offsets.write_text(json.dumps({"partitions": partitions, "version": 1}))
    for node in peers.nodes:
        create_topic(node, "cut", 3)
        create_topic(node, "cut-compacted", 1, {"cleanup.policy": "compact"})
        _write(node, "cut", [T0] * 5)
    peers.must_agree(
        f"""
        DeleteRecordsCommand --offset-json-file {offsets}
        GetOffsetShell --topic cut --time earliest
        GetOffsetShell --topic cut --time latest
        ConsoleConsumer --topic cut --partition 0 --offset earliest --max-messages 1
        """
    )


def test_log_directories(peers: Peers) -> None:
    for node in peers.nodes:
        _write(node, "measured", [T0])
    peers.must_agree(
        """
        LogDirsCommand --describe --topic-list measured
        LogDirsCommand --describe --topic-list measured --broker-list 1
        LogDirsCommand --describe --topic-list measured-not
        ! LogDirsCommand --describe --broker-list 5
        """
    )


def test_the_versions_of_every_api_that_is_served(peers: Peers) -> None:
    theirs, ours = (
        set(play("BrokerApiVersionsCommand", node, peers.tools)[0].output) for node in peers.nodes
    )
    served = {line.rstrip(",") for line in ours if "UNSUPPORTED" not in line}
    assert served <= {line.rstrip(",") for line in theirs}
    assert "\tProduce(0): 0 to 13 [usable: 13]" in served
    assert "\tInitProducerId(22): 0 to 5 [usable: 5]" in served
