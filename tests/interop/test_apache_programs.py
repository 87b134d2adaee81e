"""Apache Kafka's longer-running programs against a Headrace node, each in its own JVM."""

import json
from collections.abc import Iterator

import pytest

from tests.support.headrace_node import HeadraceNode, headrace
from tests.support.java import DEFAULT_JVM, java_tool
from tests.support.readiness import eventually
from tests.support.tool_jvm import ToolJvm


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeadraceNode]:
    with HeadraceNode(tmp_path_factory.mktemp("programs") / "data") as running:
        yield running


def _create(node: HeadraceNode, tools: ToolJvm, topic: str, partitions: int) -> None:
    options = ("--create", "--topic", topic, "--partitions", str(partitions))
    tools.run("TopicCommand", "--bootstrap-server", node.bootstrap, *options)


def _count(node: HeadraceNode, tools: ToolJvm, topic: str) -> int:
    done = tools.run("GetOffsetShell", "--bootstrap-server", node.bootstrap, "--topic", topic)
    return sum(int(line.rpartition(":")[2]) for line in done.stdout.split())


@pytest.mark.parametrize(
    "properties",
    [
        ("acks=1", "enable.idempotence=false"),
        ("acks=all", "compression.type=lz4", "linger.ms=5", "batch.size=65536"),
        ("acks=0", "enable.idempotence=false", "compression.type=zstd"),
    ],
    ids=["acks 1", "idempotent and compressed", "acks 0"],
)
def test_the_performance_producer_writes_what_it_says(
    properties: tuple[str, ...], node: HeadraceNode, tools: ToolJvm
) -> None:
    topic = f"performance-{properties[0].replace('=', '-')}"
    _create(node, tools, topic, 4)
    done = java_tool(
        "ProducerPerformance",
        f"--topic={topic}",
        "--num-records=50000",
        "--record-size=100",
        "--throughput=-1",
        f"--bootstrap-server={node.bootstrap}",
        "--command-property",
        *properties,
        jvm=DEFAULT_JVM,
    )
    assert "50000 records sent" in done.stdout
    # With acks=0 the last bytes may still be on their way.
    eventually(lambda: _count(node, tools, topic) == 50_000)


def _shapes(events: str) -> list[list[str]]:
    """The name and the fields of each event; Java's order of fields is not always the same."""
    rows = [json.loads(line) for line in events.splitlines()]
    return [[row["name"], *sorted(row)] for row in rows]


def test_the_verifiable_producer_has_every_record_acknowledged_and_ours_tells_the_same(
    node: HeadraceNode, tools: ToolJvm
) -> None:
    args = ("--max-messages=2000", "--acks=-1", f"--bootstrap-server={node.bootstrap}")
    for topic in ("verified", "verified-by-us"):
        _create(node, tools, topic, 3)
    done = java_tool("VerifiableProducer", "--topic=verified", *args)
    ours = headrace("verifiable-producer", "--topic=verified-by-us", *args)
    assert _shapes(ours.stdout) == _shapes(done.stdout)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["name"] for event in events if event["name"].endswith("error")] == []
    (told,) = [event for event in events if event["name"] == "tool_data"]
    assert (told["sent"], told["acked"]) == (2000, 2000)
    places = {
        (event["partition"], event["offset"])
        for event in events
        if event["name"] == "producer_send_success"
    }
    assert len(places) == 2000
    assert _count(node, tools, "verified") == 2000


def test_kafkas_own_test_of_client_features_passes(node: HeadraceNode) -> None:
    done = java_tool(
        "ClientCompatibilityTest",
        f"--bootstrap-server={node.bootstrap}",
        "--topic=compatible",
        "--num-cluster-nodes=1",
        "--cluster-id-supported=true",
        "--create-topics-supported=true",
        "--describe-configs-supported=true",
        "--offsets-for-times-supported=true",
        "--idempotent-producer-supported=true",
        "--expect-record-too-large-exception=false",
        "--describe-acls-supported=false",
    )
    assert done.stdout == "SUCCESS.\n"
