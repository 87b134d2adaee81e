"""The node behind living clients is replaced by the other kind, on its directory and its port.

To the clients it is a restart: groups of both protocols keep their members and their positions,
and a transaction that was open when one node stopped is committed by the next one.
"""

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from tests.clients.transactional import confluent_producer
from tests.support.apache_kafka import ApacheKafka
from tests.support.background import Background
from tests.support.headrace_node import HeadraceNode
from tests.support.node import Node
from tests.support.ports import free_port
from tests.support.readiness import eventually
from tests.support.tool_jvm import ToolJvm

pytestmark = pytest.mark.no_second_chance

TOPIC = "live"
PARTITIONS = 4
_SOON = {"reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 500, "log_level": 0}


class Member(Background):
    """A consumer in a thread of its own that reads on, whatever the node does."""

    def __init__(self, node: Node, protocol: str) -> None:
        super().__init__(protocol)
        settings = {"bootstrap.servers": node.bootstrap, "group.id": f"live-{protocol}", **_SOON}
        settings |= {"group.protocol": protocol, "auto.offset.reset": "earliest"}
        settings |= {"isolation.level": "read_committed", "auto.commit.interval.ms": 100}
        self._consumer = Consumer(settings)
        self._consumer.subscribe([TOPIC])
        self.read: list[bytes] = []
        self.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            message: Any = self._consumer.poll(0.1)
            # What is said about lost connections passes; what counts is what is read in the end.
            if message is not None and message.error() is None:
                self.read.append(message.value())
        self._consumer.close()


class Clients:
    """Two groups of one member each, and a producer whose transactions outlive nodes."""

    def __init__(self, node: Node) -> None:
        self.members = {f"live-{name}": Member(node, name) for name in ("classic", "consumer")}
        self._transactions = confluent_producer(node.bootstrap, "live", **_SOON)
        self.written: list[bytes] = []
        self.ids: dict[str, set[str]] = {}

    def begin(self, turn: int) -> None:
        """Leave a transaction open."""
        self._transactions.begin_transaction()
        self._half(b"first half %d" % turn)

    def commit(self, turn: int) -> None:
        self._half(b"second half %d" % turn)
        self._transactions.commit_transaction(60)

    def _half(self, value: bytes) -> None:
        self._transactions.produce(TOPIC, value)
        assert self._transactions.flush(60) == 0
        self.written.append(value)

    def write(self, node: Node, turn: int) -> None:
        producer = Producer({"bootstrap.servers": node.bootstrap, **_SOON})
        values = [b"plain %d %d" % (turn, number) for number in range(20)]
        for number, value in enumerate(values):
            producer.produce(TOPIC, value, partition=number % PARTITIONS)
        assert producer.flush(30) == 0
        self.written += values

    def check(self, node: Node, tools: ToolJvm) -> None:
        """Everything was read, and the groups have the members that they had before."""
        eventually(self._have_read_everything, timeout=90)
        ids = {group: members_of(node, tools, group) for group in self.members}
        assert all(len(known) == 1 for known in ids.values())
        assert self.ids in ({}, ids)
        self.ids = ids

    def _have_read_everything(self) -> bool:
        return all(set(self.written) <= set(member.read) for member in self.members.values())


def members_of(node: Node, tools: ToolJvm, group: str) -> set[str]:
    command = ("--describe", "--members", "--group", group, "--bootstrap-server", node.bootstrap)
    lines = tools.run("ConsumerGroupCommand", *command).stdout.splitlines()
    return {line.split()[1] for line in lines if line.startswith(group)}


@pytest.mark.timeout(240)
def test_clients_take_the_other_node_for_the_same_one(tmp_path: Path, tools: ToolJvm) -> None:
    port, controller_port = free_port(), free_port()
    settings = ApacheKafka(tmp_path / "unused").default_settings()
    nodes = [
        kind(tmp_path / "data", settings=settings, port=port, controller_port=controller_port)
        for kind in (HeadraceNode, ApacheKafka, HeadraceNode)
    ]
    with nodes[0] as node:
        tools.run(
            "TopicCommand", "--create", "--topic", TOPIC, "--partitions", str(PARTITIONS),
            "--bootstrap-server", node.bootstrap,
        )  # fmt: skip
        clients = Clients(node)
        clients.write(node, 0)
        clients.check(node, tools)
        clients.begin(1)
    with nodes[1] as node:
        clients.commit(1)
        clients.write(node, 1)
        clients.check(node, tools)
        clients.begin(2)
    with nodes[2] as node:
        clients.commit(2)
        clients.write(node, 2)
        clients.check(node, tools)
        for member in clients.members.values():
            member.stop()
            assert sorted(member.read) == sorted(clients.written), "each record once"
