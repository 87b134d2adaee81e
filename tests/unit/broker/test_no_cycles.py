"""Requests leave nothing for the garbage collector: it would stop a busy node to find nothing."""

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.broker.context import ConnectionInfo
from headrace.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from headrace.protocol.messages.find_coordinator import FindCoordinatorRequest
from headrace.protocol.messages.heartbeat import HeartbeatRequest
from headrace.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from headrace.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from headrace.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from headrace.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from headrace.protocol.messages.sync_group import SyncGroupRequest
from headrace.protocol.schema import Request
from tests.unit.broker.batches import NOW, batch, fetch_request, produce_request
from tests.unit.broker.frames import Exchange
from tests.unit.broker.harness import Broker
from tests.unit.broker.twins import Switch, new_connection

ROUNDS = 300
WAIT_MS = 50


class Rounds:
    """A broker, one connection per kind of client, and what happens on them again and again."""

    def __init__(self, directory: Path) -> None:
        self.broker = Broker(directory, overrides={"offsets.topic.num.partitions": "1"})
        self.broker.create_topic("t", 2)
        self.broker.ask(FindCoordinatorRequest(coordinator_keys=["g", "c"]))
        self.number = 0
        self.member_id = ""
        self._connections: dict[str, ConnectionInfo] = {}

    def send(self, request: Request, version: int | None = None, client: str = "one") -> Exchange:
        connection = self._connections.get(client)
        if connection is None:
            connection = self._connections[client] = new_connection(Switch())
        self.broker.connection = connection
        return self.broker.send(request, version)

    @property
    def end(self) -> int:
        return self.broker.partition("t").log.log_end_offset

    def produce(self, version: int = 12, client: str = "producer") -> None:
        data = batch()
        answer = self.send(produce_request(("t", 0, data), acks=-1), version, client)
        assert answer.is_answered

    def produce_in_the_ordinary_way(self) -> None:
        self.produce(version=8)

    def produce_to_be_refused(self) -> None:
        assert self.send(produce_request(("t", 0, b"bad")), 12, "producer").is_answered

    def fetch(self, version: int = 12) -> None:
        assert self.send(fetch_request(("t", 0, self.end - 1)), version, "reader").is_answered

    def fetch_in_the_ordinary_way(self) -> None:
        self.fetch(version=11)

    def park(self, version: int = 12, client: str = "waiting") -> Exchange:
        request = fetch_request(("t", 0, self.end), max_wait_ms=WAIT_MS)
        waiting = self.send(request, version, client)
        assert waiting.parked is not None
        return waiting

    def wake(self) -> None:
        for version in (11, 12):
            waiting = self.park(version)
            self.produce()
            assert waiting.is_answered

    def time_out(self) -> None:
        for version in (11, 12):
            waiting = self.park(version)
            self.broker.advance(WAIT_MS)
            assert waiting.is_answered

    def abandon(self) -> None:
        for version in (11, 12):
            waiting = self.park(version)
            assert waiting.parked is not None
            waiting.parked.abandon()

    def fetch_by_turns(self) -> None:
        """What is known of the one does not hold for the other."""
        for index in (0, 1):
            assert self.send(fetch_request(("t", index, 0)), 12, "fickle").is_answered

    def come_and_go(self) -> None:
        """A connection with its habits; the server forgets them when it closes."""
        for _ in range(4):
            self.produce(client="guest")
            self.send(fetch_request(("t", 0, 0)), 12, "guest")
            self.commit("guest")
        self._connections.pop("guest").known.clear()

    def metadata(self) -> None:
        topics = [MetadataRequestTopic(name="t")]
        assert self.send(MetadataRequest(topics=topics)).response.topics[0].error_code == 0

    def list_offsets(self, timestamp: int = -1, index: int = 0) -> Exchange:
        partition = ListOffsetsPartition(partition_index=index, timestamp=timestamp)
        topic = ListOffsetsTopic(name="t", partitions=[partition])
        return self.send(ListOffsetsRequest(topics=[topic]))

    def list_latest_offsets(self) -> None:
        assert self.list_offsets().is_answered

    def look_up_a_time(self) -> None:
        assert self.list_offsets(NOW).is_answered

    def look_up_a_time_elsewhere(self) -> None:
        if self.broker.partition("t", 1).log.log_end_offset == 0:
            self.send(produce_request(("t", 1, batch(5_000))), 8)
        self.broker.scheduler.hold = True
        waiting = self.list_offsets(NOW, 1)
        assert not waiting.is_answered
        self.broker.scheduler.release()
        self.broker.scheduler.hold = False
        assert waiting.is_answered

    def commit(self, client: str = "committer") -> None:
        self.number += 1
        place = OffsetCommitRequestPartition(partition_index=0, committed_offset=self.number)
        topics = [OffsetCommitRequestTopic(name="t", partitions=[place])]
        request = OffsetCommitRequest(group_id="alone", topics=topics)
        response = self.send(request, 9, client).response
        assert response.topics[0].partitions[0].error_code == 0

    def beat(self) -> None:
        if not self.member_id:
            self.member_id = self._join()
        request = HeartbeatRequest(group_id="g", generation_id=1, member_id=self.member_id)
        assert self.send(request, client="member").response.error_code == 0

    def _join(self) -> str:
        protocol = JoinGroupRequestProtocol(name="range", metadata=b"")
        request = JoinGroupRequest(
            group_id="g",
            session_timeout_ms=300_000,
            rebalance_timeout_ms=300_000,
            protocol_type="consumer",
            protocols=[protocol],
        )
        joining = self.send(request, 3, "member")
        self.broker.advance(3_000)
        member_id: str = joining.response.member_id
        sync = SyncGroupRequest(
            group_id="g",
            generation_id=1,
            member_id=member_id,
            protocol_type="consumer",
            protocol_name="range",
        )
        assert self.send(sync, client="member").response.error_code == 0
        return member_id

    def beat_in_a_consumer_group(self) -> None:
        self.number += 1
        is_new = "consumer" not in self._connections
        response = self.send(self._consumer_beat(is_new), client="consumer").response
        assert response.error_code == 0

    def _consumer_beat(self, is_new: bool) -> Request:
        given: dict[str, Any] = {"member_epoch": 2}
        if is_new:
            given = {
                "member_epoch": 0,
                "subscribed_topic_names": ["t"],
                "topic_partitions": [],
                "rebalance_timeout_ms": 60_000,
            }
        return ConsumerGroupHeartbeatRequest(group_id="c", member_id="m", **given)


KINDS: dict[str, Callable[[Rounds], None]] = {
    "a produce": Rounds.produce,
    "a produce of an old version": Rounds.produce_in_the_ordinary_way,
    "a produce that is refused": Rounds.produce_to_be_refused,
    "a fetch": Rounds.fetch,
    "a fetch that is not as known": Rounds.fetch_by_turns,
    "a fetch of an old version": Rounds.fetch_in_the_ordinary_way,
    "a fetch that is woken": Rounds.wake,
    "a fetch that times out": Rounds.time_out,
    "a fetch that is abandoned": Rounds.abandon,
    "a connection": Rounds.come_and_go,
    "metadata": Rounds.metadata,
    "list offsets": Rounds.list_latest_offsets,
    "a lookup by time": Rounds.look_up_a_time,
    "a lookup by time that waits": Rounds.look_up_a_time_elsewhere,
    "a commit": Rounds.commit,
    "a heartbeat": Rounds.beat,
    "a heartbeat in a consumer group": Rounds.beat_in_a_consumer_group,
}


@pytest.fixture
def rounds(tmp_path: Path) -> Iterator[Rounds]:
    made = Rounds(tmp_path)
    yield made
    gc.enable()
    made.broker.close()


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_left_to_the_collector_by(rounds: Rounds, kind: str) -> None:
    run = KINDS[kind]
    for _ in range(20):
        run(rounds)
    rounds.produce()
    gc.disable()
    gc.collect()
    for _ in range(ROUNDS):
        run(rounds)
    assert gc.collect() == 0
