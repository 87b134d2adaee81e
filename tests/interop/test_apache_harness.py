"""The peer itself: Apache Kafka starts, its tools talk to it, and its files can be dumped."""

from pathlib import Path

from tests.support.apache_kafka import ApacheKafka
from tests.support.java import DEFAULT_JVM, java_tool
from tests.support.properties import read_properties


def _create(node: ApacheKafka, topic: str, partitions: int = 1) -> None:
    java_tool(
        "TopicCommand",
        "--create",
        f"--topic={topic}",
        f"--partitions={partitions}",
        f"--bootstrap-server={node.bootstrap}",
    )


def _end_offset(node: ApacheKafka, topic: str) -> int:
    done = java_tool("GetOffsetShell", f"--topic={topic}", f"--bootstrap-server={node.bootstrap}")
    return sum(int(line.rpartition(":")[2]) for line in done.stdout.split())


def test_a_topic_made_with_the_topic_tool_is_described_by_it(apache: ApacheKafka) -> None:
    _create(apache, "described", partitions=3)
    done = java_tool(
        "TopicCommand", "--describe", "--topic=described", f"--bootstrap-server={apache.bootstrap}"
    )
    assert "PartitionCount: 3" in done.stdout
    assert done.stderr == ""


def test_the_performance_producer_writes_what_it_says(apache: ApacheKafka) -> None:
    _create(apache, "performance", partitions=2)
    done = java_tool(
        "ProducerPerformance",
        "--topic=performance",
        "--num-records=5000",
        "--record-size=100",
        "--throughput=-1",
        "--bootstrap-server",
        apache.bootstrap,
        jvm=DEFAULT_JVM,
    )
    assert "5000 records sent" in done.stdout
    assert _end_offset(apache, "performance") == 5000


def test_a_stopped_node_leaves_files_to_dump_and_starts_again_on_them(tmp_path: Path) -> None:
    node = ApacheKafka(tmp_path / "data")
    with node:
        _create(node, "kept")
        java_tool(
            "ConsoleProducer",
            "--topic=kept",
            f"--bootstrap-server={node.bootstrap}",
            stdin="one\ntwo\nthree\n",
        )
    cluster_id = read_properties(node.directory / "meta.properties")["cluster.id"]
    segment = node.directory / "kept-0" / "00000000000000000000.log"
    dump = java_tool(
        "DumpLogSegments", f"--files={segment}", "--deep-iteration", "--print-data-log"
    )
    assert "payload: three" in dump.stdout
    # Another node object on the same directory: same ids, other ports.
    with ApacheKafka(tmp_path / "data") as again:
        assert _end_offset(again, "kept") == 3
        done = java_tool("ClusterTool", "cluster-id", f"--bootstrap-server={again.bootstrap}")
        assert cluster_id in done.stdout
