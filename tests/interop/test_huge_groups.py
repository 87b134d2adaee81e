"""Ten thousand members of one group, and somebody else who goes on all the while."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.base.errors import ErrorCode
from headrace.client.config import ClientConfig
from headrace.client.connection import BlockingConnection
from headrace.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from headrace.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
)
from tests.support.coordinator import wait_for_coordinator
from tests.support.headrace_node import HeadraceNode
from tests.support.raw_call import calls_to
from tests.support.raw_producer import RawProducer, numbered_batch
from tests.support.reading import read_topic
from tests.support.workload import create_topic

MEMBERS = 10_000
CONNECTIONS = 4
#: Requests of one connection that wait for their answers at a time.
AHEAD = 50
PARTITIONS = 100
#: Everybody joins, hears of the target, gives up and gets.
ROUNDS_MAX = 8
#: In so many answers to the crowd there must be one to the other client.
PATIENCE = 2_000
SETTINGS = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    # A busy machine may take its time until a member is heard of again.
    "group.consumer.session.timeout.ms": "600000",
    "group.consumer.max.session.timeout.ms": "600000",
}


class Crowd:
    """Members that share connections; counts the answers that they have got."""

    def __init__(self, node: HeadraceNode) -> None:
        self.answers = 0
        self._node = node
        self._epochs = [0] * MEMBERS
        self._owned: list[list[TopicPartitions]] = [[] for _ in range(MEMBERS)]
        #: Members that have to say what they own now.
        self._reports = set(range(MEMBERS))
        self._counting = threading.Lock()
        self._failures: list[BaseException] = []

    @property
    def is_settled(self) -> bool:
        """Everybody has heard of the last target, and every partition has its owner."""
        owned = sum(len(one.partitions) for owned in self._owned for one in owned)
        return not self._reports and owned == PARTITIONS and len(set(self._epochs)) == 1

    def beat(self, meanwhile: Callable[[], None]) -> None:
        """Every member sends a heartbeat, while this thread does something else."""
        threads = [
            threading.Thread(target=self._beat, args=(first,), daemon=True)
            for first in range(CONNECTIONS)
        ]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            meanwhile()
        assert self._failures == []

    def _beat(self, first: int) -> None:
        config = ClientConfig(bootstrap=(("127.0.0.1", self._node.port),))
        connection = BlockingConnection(config.bootstrap[0], config)
        members = range(first, MEMBERS, CONNECTIONS)
        try:
            for position, member in enumerate(members):
                connection.post(self._request(member))
                if position >= AHEAD:
                    self._take(connection, members[position - AHEAD])
            for member in members[-AHEAD:]:
                self._take(connection, member)
        except BaseException as failure:
            self._failures.append(failure)
        finally:
            connection.close()

    def _request(self, member: int) -> ConsumerGroupHeartbeatRequest:
        request = ConsumerGroupHeartbeatRequest(
            group_id="crowd", member_id=f"member-{member}", member_epoch=self._epochs[member]
        )
        if self._epochs[member] == 0:
            request.rebalance_timeout_ms = 600_000
            request.subscribed_topic_names = ["read"]
        if member in self._reports:
            self._reports.discard(member)
            request.topic_partitions = self._owned[member]
        return request

    def _take(self, connection: BlockingConnection, member: int) -> None:
        answer = connection.take(ConsumerGroupHeartbeatResponse)
        assert answer.error_code == ErrorCode.NONE, answer
        self._epochs[member] = answer.member_epoch
        given = answer.assignment
        if given is not None and given.topic_partitions != self._owned[member]:
            self._owned[member] = given.topic_partitions
            self._reports.add(member)
        with self._counting:
            self.answers += 1


@pytest.mark.timeout(240)
def test_others_are_served_between_the_heartbeats_of_ten_thousand_members(tmp_path: Path) -> None:
    with HeadraceNode(tmp_path / "data", settings=SETTINGS) as node:
        create_topic(node, "read", PARTITIONS)
        create_topic(node, "other")
        wait_for_coordinator(node, "crowd")
        crowd = Crowd(node)
        #: How many answers the crowd had whenever the other client got one.
        served: list[int] = []
        with calls_to(node) as call, RawProducer(node.bootstrap) as producer:
            metadata = MetadataRequest(topics=[MetadataRequestTopic(name="other")])

            def serve_another() -> None:
                assert call(metadata, None).topics[0].error_code == 0
                assert producer.send("other", numbered_batch(len(served), 1)).error_code == 0
                served.append(crowd.answers)

            for _ in range(ROUNDS_MAX):
                crowd.beat(serve_another)
                if crowd.is_settled:
                    break
        assert crowd.is_settled
        assert len(read_topic(node, "other")) == len(served)
    turns = {answers // PATIENCE for answers in served}
    assert turns >= set(range(crowd.answers // PATIENCE)), "others had to wait for the crowd"
