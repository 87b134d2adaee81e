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

T0 = 1_700_000_000_000


@dataclass(frozen=True, slots=True)
class Peers:
    """A node of either kind with the same settings, and the tools to ask them with."""

    apache: ApacheKafka
    headrace: HeadraceNode
    tools: ToolJvm

    def must_agree(self, script: str, *masked: str) -> None:
        """Play a script on both; exit codes and texts are the same, line by line."""
        theirs = play(script, self.apache, self.tools, masked=masked)
        ours = play(script, self.headrace, self.tools, masked=masked)
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


_TOPICS = {
    "created": """
        TopicCommand --create --topic made --partitions 3
        ! TopicCommand --create --topic made --partitions 3
        TopicCommand --create --topic made --if-not-exists
        TopicCommand --create --topic made.with --config retention.ms=1000 --config cleanup.policy=compact
        TopicCommand --create --topic made-by-hand --replica-assignment 1,1
        TopicCommand --create --topic __consumer_offsets
        TopicCommand --list --topic "made.*"
        TopicCommand --list --exclude-internal --topic "(made|__con).*"
        TopicCommand --describe --topic made
        TopicCommand --describe --topic "made.*"
        TopicCommand --describe --topics-with-overrides --topic "made.*"
        TopicCommand --describe --under-replicated-partitions
        TopicCommand --describe --unavailable-partitions
        TopicCommand --describe --under-min-isr-partitions
        TopicCommand --describe --at-min-isr-partitions --topic made
    """,
    "refused": """
        ! TopicCommand --create --topic refused/name
        ! TopicCommand --create --topic .
        ! TopicCommand --create --topic ..
        ! TopicCommand --create --topic refused --replication-factor 2
        ! TopicCommand --create --topic refused --replication-factor 0
        ! TopicCommand --create --topic refused --partitions 0
        ! TopicCommand --create --topic refused --replica-assignment 2,1
        ! TopicCommand --create --topic refused --replica-assignment 1:1
        ! TopicCommand --create --topic refused --config retention.ms=abc
        ! TopicCommand --create --topic refused --config retention.ms=-5
        ! TopicCommand --create --topic refused --config no.such=1
        ! TopicCommand --create --topic refused --config min.insync.replicas=0
        ! TopicCommand --create --topic refused --config cleanup.policy=foo
        ! TopicCommand --create --topic refused --config segment.bytes=10
        ! TopicCommand --create --topic refused --config compression.type=zip
        ! TopicCommand --create --topic refused --config message.timestamp.type=Never
        ! TopicCommand --create --topic refused --config max.message.bytes=-1
        ! TopicCommand --create --topic refused --config preallocate=perhaps
        ! TopicCommand --create --topic refused --config min.compaction.lag.ms=10 --config max.compaction.lag.ms=5
        ! TopicCommand --describe --topic refused
        TopicCommand --describe --topic refused --if-exists
    """,
    "altered and deleted": """
        TopicCommand --create --topic grown
        TopicCommand --alter --topic grown --partitions 4
        ! TopicCommand --alter --topic grown --partitions 4
        ! TopicCommand --alter --topic grown --partitions 2
        ! TopicCommand --alter --topic grown-not --partitions 2
        TopicCommand --describe --topic grown
        ConsoleProducer --topic grown --reader-property parse.key=true --reader-property key.separator=: <<< a:1|b:2|c:3|d:4
        GetOffsetShell --topic grown
        TopicCommand --delete --topic grown
        ! TopicCommand --delete --topic grown
        TopicCommand --delete --topic grown --if-exists
        TopicCommand --list --topic "grown.*"
        TopicCommand --create --topic grown
        GetOffsetShell --topic grown
    """,
}

_CONFIGS = {
    "of topics": """
        TopicCommand --create --topic configured
        ConfigCommand --alter --topic configured --add-config retention.ms=5000,cleanup.policy=[compact,delete]
        ConfigCommand --describe --topic configured
        ConfigCommand --alter --topic configured --delete-config retention.ms
        ConfigCommand --describe --topic configured
        ! ConfigCommand --alter --topic configured --add-config retention.ms=x
        ! ConfigCommand --alter --topic configured --add-config no.such=x
        ! ConfigCommand --alter --topic configured-not --add-config retention.ms=1
        ConfigCommand --alter --topic configured --delete-config max.message.bytes
        ConfigCommand --describe --topic configured
        ConfigCommand --describe --topic configured --all
    """,
    "of brokers": """
        ConfigCommand --describe --broker 1 --all
        ConfigCommand --alter --broker 1 --add-config log.cleaner.threads=2
        ConfigCommand --alter --broker-defaults --add-config log.retention.ms=600000
        ConfigCommand --describe --broker 1
        ConfigCommand --describe --broker-defaults
        ConfigCommand --describe --entity-type brokers
        TopicCommand --create --topic inheriting
        ConfigCommand --describe --topic inheriting --all
        ! ConfigCommand --alter --broker 1 --add-config log.dirs=/elsewhere
        ! ConfigCommand --alter --broker 1 --add-config message.max.bytes=abc
        ! ConfigCommand --alter --broker-defaults --add-config listeners=PLAINTEXT://:9092
        ConfigCommand --alter --broker 1 --add-config no.such=5
        ConfigCommand --describe --broker 1
        ConfigCommand --alter --broker 1 --delete-config no.such,log.cleaner.threads
        ConfigCommand --alter --broker-defaults --delete-config log.retention.ms
    """,
    "of client metrics": """
        ConfigCommand --alter --client-metrics phones --add-config interval.ms=5000,metrics=[org.apache]
        ConfigCommand --describe --client-metrics phones
        ConfigCommand --describe --entity-type client-metrics
        ! ConfigCommand --alter --client-metrics phones --add-config interval.ms=1
        ConfigCommand --alter --client-metrics phones --delete-config interval.ms,metrics
    """,
}


@pytest.mark.parametrize("script", _TOPICS.values(), ids=_TOPICS.keys())
def test_topics(script: str, peers: Peers) -> None:
    peers.must_agree(script)


@pytest.mark.parametrize("script", _CONFIGS.values(), ids=_CONFIGS.keys())
def test_configs(script: str, peers: Peers) -> None:
    peers.must_agree(script)


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


def test_offsets_of_chosen_topics_and_partitions(peers: Peers) -> None:
    peers.must_agree(
        """
        TopicCommand --create --topic chosen-1 --partitions 3
        TopicCommand --create --topic chosen-2 --partitions 2
        ConsoleProducer --topic chosen-1 --reader-property parse.key=true --reader-property key.separator=: <<< a:1|b:2|c:3
        GetOffsetShell --topic-partitions chosen-1:0-2,chosen-2:1
        GetOffsetShell --topic "chosen-.*" --partitions 0,1
        GetOffsetShell --topic "(chosen-.*|__consumer_offsets)" --exclude-internal-topics
        ! GetOffsetShell --topic chosen-not
        """
    )


def test_records_are_deleted_up_to_an_offset(peers: Peers, tmp_path: Path) -> None:
    offsets = tmp_path / "offsets.json"
    wanted = [("cut", 0, 2), ("cut", 1, -1), ("cut", 2, 100), ("cut-compacted", 0, 1)]
    partitions = [{"topic": t, "partition": p, "offset": o} for t, p, o in wanted]
    offsets.write_text(json.dumps({"partitions": partitions, "version": 1}))
    peers.must_agree(
        """
        TopicCommand --create --topic cut --partitions 3
        TopicCommand --create --topic cut-compacted --config cleanup.policy=compact
        """
    )
    for node in peers.nodes:
        _write(node, "cut", [T0] * 5)
    peers.must_agree(
        f"""
        DeleteRecordsCommand --offset-json-file {offsets}
        GetOffsetShell --topic cut --time earliest
        GetOffsetShell --topic cut --time latest
        ConsoleConsumer --topic cut --partition 0 --offset earliest --max-messages 1 --timeout-ms 20000
        """
    )


def test_lines_go_in_and_come_out_by_partition_and_offset(peers: Peers) -> None:
    peers.must_agree(
        """
        ConsoleProducer --topic lines <<< one|two|three
        ConsoleConsumer --topic lines --partition 0 --offset earliest --max-messages 3 --timeout-ms 20000
        ConsoleConsumer --topic lines --partition 0 --offset 1 --max-messages 1 --timeout-ms 20000 --formatter-property print.offset=true --formatter-property print.key=true
        ConsoleConsumer --topic lines --partition 0 --offset latest --timeout-ms 300
        ConsoleConsumer --topic lines --partition 5 --offset 1 --timeout-ms 300
        """
    )


def test_the_cluster_its_features_and_its_quorum(peers: Peers) -> None:
    peers.must_agree(
        """
        ClusterTool cluster-id
        ClusterTool list-endpoints
        FeatureCommand describe
        ! FeatureCommand upgrade --feature metadata.version=99
        ! FeatureCommand upgrade --feature no.such=1
        ! FeatureCommand downgrade --feature metadata.version=7
        FeatureCommand downgrade --feature share.version=0
        FeatureCommand describe
        FeatureCommand upgrade --feature share.version=1
        FeatureCommand version-mapping
        FeatureCommand feature-dependencies --feature transaction.version=2
        MetadataQuorumCommand describe --status
        MetadataQuorumCommand describe --replication
        """,
        r"(Epoch|HighWatermark): +\d+",
        r"\d+ +\t0  \t\d{13} +\t\d{13} ",
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


def test_producers_are_described(peers: Peers) -> None:
    peers.must_agree(
        """
        ConsoleProducer --topic produced-to --command-property enable.idempotence=true <<< one|two|three
        TransactionsCommand describe-producers --topic produced-to --partition 0
        """,
        r"(?m)^\d+ +(?=\t)",
        r"\d{13}",
    )
