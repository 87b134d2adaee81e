"""One data directory, worked on by Headrace and Apache Kafka in turn: nothing lost, nothing moved.

After every stop Apache's own tool reads every file; after every start the other side serves the
same records at the same offsets, takes more, and knows the producers that wrote before.
"""

import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from headrace.base.errors import ErrorCode
from tests.support.apache_kafka import ApacheKafka
from tests.support.dump import dump_directory
from tests.support.headrace_node import HeadraceNode
from tests.support.node import Node
from tests.support.raw_producer import Produced, RawProducer
from tests.support.reading import read_topic
from tests.support.tool_jvm import ToolJvm
from tests.support.workload import (
    EAGER_CLEANER,
    NO_CLEANER,
    T0,
    Contents,
    check_round,
    contents,
    create_topic,
    create_topics,
    wait_until_compacted,
    write_round,
)

pytestmark = pytest.mark.no_second_chance

_QUESTIONS = (
    ("TopicCommand", "--describe", "--exclude-internal"),
    ("ConfigCommand", "--describe", "--entity-type", "brokers"),
    ("GetOffsetShell", "--exclude-internal-topics", "--time", "earliest"),
    ("GetOffsetShell", "--exclude-internal-topics", "--time", "latest"),
    ("GetOffsetShell", "--exclude-internal-topics", "--time", "max-timestamp"),
    ("GetOffsetShell", "--topic", "segmented", "--time", str(T0 + 301)),
    ("GetOffsetShell", "--topic", "codec-zstd", "--time", str(T0 + 299)),
)


def _node(kind: type[Node], directory: Path, settings: dict[str, str]) -> Node:
    if kind is ApacheKafka:
        return ApacheKafka(directory, settings=settings, heap="384M")
    return kind(directory, settings=settings)


def _answers(node: Node, tools: ToolJvm) -> list[str]:
    """What Apache's tools say of topics, configs and offsets, topic ids and all."""
    return [
        tools.run(name, "--bootstrap-server", node.bootstrap, *args).stdout
        for name, *args in _QUESTIONS
    ]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("first", "second"),
    [(HeadraceNode, ApacheKafka), (ApacheKafka, HeadraceNode)],
    ids=["headrace first", "apache first"],
)
def test_a_directory_goes_from_one_to_the_other_and_back(
    first: type[Node], second: type[Node], tmp_path: Path, tools: ToolJvm
) -> None:
    directory = tmp_path / "data"
    sequences = _Sequences()
    with _node(first, directory, EAGER_CLEANER) as node:
        create_topics(node)
        write_round(node, 0)
        wait_until_compacted(node, 0)
        sequences.begin(node)
    with _node(first, directory, NO_CLEANER) as node:
        written, told = contents(node), _answers(node, tools)
        check_round(written, 0)
    dump_directory(directory, tools)

    with _node(second, directory, NO_CLEANER) as node:
        assert contents(node) == written
        assert _answers(node, tools) == told
        sequences.go_on(node)
        write_round(node, 1)
        written, told = contents(node), _answers(node, tools)
        check_round(written, 1)
    dump_directory(directory, tools)

    with _node(first, directory, NO_CLEANER) as node:
        assert contents(node) == written
        assert _answers(node, tools) == told
        sequences.go_on(node)
        write_round(node, 2)
        check_round(contents(node), 2)
    dump_directory(directory, tools)

    with _node(second, directory, EAGER_CLEANER) as node:
        wait_until_compacted(node, 2)
        check_round(contents(node), 2)


@pytest.mark.timeout(240)
def test_each_recovers_what_the_other_left_when_it_was_killed(
    tmp_path: Path, tools: ToolJvm
) -> None:
    directory = tmp_path / "data"
    sequences = _Sequences()
    with _node(HeadraceNode, directory, NO_CLEANER) as node:
        create_topics(node)
        write_round(node, 0)
        sequences.begin(node)
        written = _durable(contents(node))
        node.kill()
    with _node(ApacheKafka, directory, NO_CLEANER) as node:
        assert _durable(contents(node)) == written
        sequences.go_on(node)
        write_round(node, 1)
        written = _durable(contents(node))
        node.kill()
    with _node(HeadraceNode, directory, NO_CLEANER) as node:
        assert _durable(contents(node)) == written
        sequences.go_on(node)
        check_round(written, 1)
    dump_directory(directory, tools)


def _durable(found: Contents) -> Contents:
    """Without what a crash may undo: where deleted records end is written once a minute only."""
    return {topic: records for topic, records in found.items() if topic != "cut"}


class _Sequences:
    """An idempotent producer that outlives the nodes it writes to."""

    topic = "by-hand"

    def __init__(self) -> None:
        self._next = 0
        self._ids: list[int] = []

    def begin(self, node: Node) -> None:
        create_topic(node, self.topic)
        self._write(node)

    def go_on(self, node: Node) -> None:
        """The node knows what was written before it had the directory."""
        with RawProducer(node.bootstrap) as producer:
            again = producer.send_sequence(self.topic, self._ids[0], self._next - 5, 5)
            assert again == Produced(0, self._next - 5)
            gap = producer.send_sequence(self.topic, self._ids[0], self._next + 3, 5)
            assert gap.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
            old = producer.send_sequence(self.topic, self._ids[0], self._next, 5, epoch=-1)
            assert old.error_code != ErrorCode.NONE
        self._write(node)
        records = read_topic(node, self.topic)
        assert [record.value for record in records] == [b"v%d" % n for n in range(self._next)]
        assert [record.offset for record in records] == list(range(self._next))

    def _write(self, node: Node) -> None:
        with RawProducer(node.bootstrap) as producer:
            self._ids.append(producer.new_producer_id())
            assert len(set(self._ids)) == len(self._ids)
            for _ in range(2):
                assert self._send(producer) == Produced(0, self._next)
                self._next += 5

    def _send(self, producer: RawProducer) -> Produced:
        """As every client does, try again while a new topic's leader does not lead yet."""
        for _ in range(100):
            sent = producer.send_sequence(self.topic, self._ids[0], self._next, 5)
            if sent.error_code != ErrorCode.NOT_LEADER_OR_FOLLOWER:
                break
            time.sleep(0.05)
        return sent


@pytest.mark.timeout(180)
def test_transactions_that_apache_wrote_stay_committed_or_aborted(
    tmp_path: Path, tools: ToolJvm
) -> None:
    directory = tmp_path / "data"
    with _node(ApacheKafka, directory, {}) as node:
        create_topic(node, "transacted", 1, {"internal.segment.bytes": "4000"})
        producer = Producer({"bootstrap.servers": node.bootstrap, "transactional.id": "t"})
        producer.init_transactions(30)
        for number in range(12):
            producer.begin_transaction()
            for record in range(20):
                producer.produce("transacted", f"{number} {record}")
            if number % 3 == 1:
                producer.flush(30)
                producer.abort_transaction(30)
            else:
                producer.commit_transaction(30)
        producer.begin_transaction()
        producer.produce("transacted", "left open")
        producer.flush(30)
        committed = read_topic(node, "transacted")
        everything = read_topic(node, "transacted", committed=False)
        assert (len(committed), len(everything)) == (160, 241)
        del producer
    with _node(HeadraceNode, directory, {}) as node:
        assert read_topic(node, "transacted") == committed
        assert read_topic(node, "transacted", committed=False) == everything
    dump_directory(directory, tools)
    with _node(ApacheKafka, directory, {}) as node:
        assert read_topic(node, "transacted") == committed
        assert read_topic(node, "transacted", committed=False)[:241] == everything
