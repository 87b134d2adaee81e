"""Batches whose inside is bad and whose header is good: by default they are stored.

Kafka would refuse them (docs/GAPS.md says why Headrace does not). Whoever comes across them later
must get past them: fetches, lookups by time, the console, compaction, recovery.
"""

from collections.abc import Iterator

import pytest

from headrace.base.errors import ErrorCode
from headrace.client.blocking import KafkaClient
from headrace.client.config import ClientConfig
from headrace.client.offsets import list_offsets
from headrace.records.batch import iter_headers, read_header
from tests.support.checked_reader import fetch_once
from tests.support.headrace_node import HeadraceNode, headrace
from tests.support.memory import forget_peak, peak_bytes
from tests.support.poison import INNER_POISON, swarm
from tests.support.probe import Probe
from tests.support.raw_producer import RawProducer, numbered_batch
from tests.support.readiness import eventually
from tests.support.tool_jvm import ToolJvm
from tests.support.workload import EAGER_CLEANER, create_topic

pytestmark = pytest.mark.no_second_chance

_TOPIC = "let-through"
_SMALL = {"internal.segment.bytes": "6000", "min.cleanable.dirty.ratio": "0.01"}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeadraceNode]:
    directory = tmp_path_factory.mktemp("let-through") / "data"
    with HeadraceNode(directory, settings=EAGER_CLEANER) as running:
        create_topic(running, _TOPIC, 1, _SMALL)
        with RawProducer(running.bootstrap) as producer:
            for make in INNER_POISON.values():
                assert producer.send(_TOPIC, numbered_batch(0, 3)).error_code == 0
                assert producer.send(_TOPIC, make()).error_code == 0
            assert producer.send(_TOPIC, numbered_batch(100, 3)).error_code == 0
        yield running


def _end(node: HeadraceNode) -> int:
    done = headrace("get-offsets", "--bootstrap-server", node.bootstrap, "--topic", _TOPIC)
    return int(done.stdout.strip().rpartition(":")[2])


def _walk(node: HeadraceNode) -> int:
    """Fetch from the beginning to the end; returns the number of batches on the way."""
    offset, end, batches = 0, _end(node), 0
    host, _, port = node.bootstrap.rpartition(":")
    with KafkaClient(ClientConfig(bootstrap=((host, int(port)),))) as client:
        while offset < end:
            code, _, data = fetch_once(client, _TOPIC, offset, max_bytes=200)
            found = [header for _, header in iter_headers(data)]
            assert code is ErrorCode.NONE
            assert found, offset
            assert found[-1].next_offset > offset
            offset, batches = found[-1].next_offset, batches + len(found)
    return batches


def test_every_batch_is_fetched_on_the_way_to_the_end(node: HeadraceNode) -> None:
    assert _walk(node) == 2 * len(INNER_POISON) + 1


def test_a_lookup_by_time_answers_whatever_the_time(node: HeadraceNode, tools: ToolJvm) -> None:
    for time in ("0", "max-timestamp", "earliest", "latest", "1700000000000", "99999999999999"):
        options = ("--topic", _TOPIC, "--time", time)
        tools.run("GetOffsetShell", "--bootstrap-server", node.bootstrap, *options)


def test_a_lookup_in_a_batch_of_a_million_records_costs_nobody_else_anything(
    node: HeadraceNode,
) -> None:
    create_topic(node, "swarm")
    batch = swarm(1_000_000)
    with RawProducer(node.bootstrap) as producer:
        assert producer.send("swarm", batch).error_code == 0
        assert producer.send("swarm", numbered_batch(0, 3)).error_code == 0
    claimed = read_header(batch).max_timestamp
    host, _, port = node.bootstrap.rpartition(":")
    with (
        Probe(node, "beside-the-swarm") as probe,
        KafkaClient(ClientConfig(bootstrap=((host, int(port)),))) as client,
    ):
        before = forget_peak(node.pid)
        assert list_offsets(client, {("swarm", 0): claimed}) == {("swarm", 0): 1_000_000}
        assert peak_bytes(node.pid) - before < 128 * 1024 * 1024
        probe.must_progress()


def test_the_console_reads_what_comes_after_them(node: HeadraceNode) -> None:
    done = headrace(
        "console-consumer",
        *("--bootstrap-server", node.bootstrap),
        *("--topic", _TOPIC, "--partition", "0", "--offset", str(_end(node) - 3)),
        *("--max-messages", "3"),
    )
    assert done.stdout.splitlines() == ["v100", "v101", "v102"]


def test_compaction_gets_past_them_and_so_does_the_next_life(node: HeadraceNode) -> None:
    with Probe(node) as probe:
        headrace(
            "configs",
            *("--bootstrap-server", node.bootstrap, "--topic", _TOPIC),
            *("--alter", "--add-config", "cleanup.policy=compact"),
        )
        end = _end(node)
        create_topic(node, "compacted-meanwhile", 1, {**_SMALL, "cleanup.policy": "compact"})
        with RawProducer(node.bootstrap) as producer:
            for _ in range(40):
                assert producer.send("compacted-meanwhile", numbered_batch(0, 50)).error_code == 0
        # The cleaner goes on to other logs, whatever it made of this one.
        logs = node.directory / "compacted-meanwhile-0"
        eventually(lambda: sum(path.stat().st_size for path in logs.glob("*.log")) < 15_000)
        probe.must_progress()
    node.kill()
    node.start()
    assert _end(node) == end
    assert _walk(node) > 0
