"""Random schedules against a whole broker: its logs, its fetches, its groups.

The producers are those of `tests/unit/transactions/world`; here the partitions, the markers and
the readers are real. Leaders vanish and come back, and coordinators load their logs anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.coordination.coordinators import Coordinators
from headrace.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from headrace.records.batch import iter_headers
from headrace.records.control import ControlType, control_type
from headrace.records.reader import read_batch
from headrace.replication.partition import Leadership
from headrace.transactions.requests import EndTransaction, InitProducer
from headrace.transactions.transaction import ProducerIdentity, TopicPartition
from tests.support import transaction_requests as requests
from tests.unit.broker.harness import Broker
from tests.unit.transactions.world import PARTITIONS, Produce, Producer

IDS = ["x", "y"]
STEPS = 150


class Storm:
    """One broker, some producers, and bad weather."""

    def __init__(self, seed: int, directory: Path) -> None:
        self.chance = Random(seed)
        self.broker = Broker(
            directory,
            overrides={
                "transaction.abort.timed.out.transaction.cleanup.interval.ms": "20",
                "transaction.state.log.num.partitions": "2",
                "offsets.topic.num.partitions": "1",
            },
        )
        self.broker.create_topic(PARTITIONS[0].topic, len(PARTITIONS))
        self.producers: list[Producer] = []
        self.delayed: list[Any] = []
        for kind, key in ((1, "x"), (1, "y"), (0, "g")):
            self.broker.ask(requests.find(kind, key), 4)

    def step(self) -> None:
        roll = self.chance.random()
        if roll < 0.75:
            self._ask()
        elif roll < 0.85 and self.delayed:
            self.serve(self.delayed.pop(self.chance.randrange(len(self.delayed))))
        elif roll < 0.92:
            self._move_leader(self.chance.choice(PARTITIONS), self.chance.choice([1, 1, 9]))
        elif roll < 0.97:
            self.broker.advance(self.chance.randrange(40))
        else:
            self._reload(self.broker.transactions.transactions.coordinators)
            self._reload(self.broker.groups.coordinators)

    def settle(self) -> None:
        """Good weather; what must end, ends."""
        for at in PARTITIONS:
            self._move_leader(at, 1)
        for _ in range(3):
            self.broker.advance(3_000)
        # The producers' timeouts are over by now.
        self.broker.clock.advance(10_000)
        self.broker.advance(2_000)

    def serve(self, request: Any) -> Any:
        """Ask the broker over the wire; the reply is what producers of the model expect."""
        if isinstance(request, InitProducer):
            wire = requests.init(
                request.transactional_id, request.timeout_ms, ProducerIdentity(-1, -1)
            )
            return _identity(self._patiently(wire))
        if isinstance(request, EndTransaction):
            wire_end = requests.end(request.transactional_id, request.producer, request.committed)
            return _identity(self._patiently(wire_end))
        assert isinstance(request, Produce)
        wire_produce = requests.produce(
            request.transactional_id,
            request.producer,
            request.at,
            self._sequence(request),
            [request.value],
            self.broker.clock.wall_ms(),
        )
        response = self._patiently(wire_produce, 12)
        (result,) = response.responses[0].partition_responses
        return _retriable(result.error_code)

    def _sequence(self, request: Produce) -> int:
        """The next number that the partition expects of this producer."""
        log = self.broker.partition(*request.at).log
        entry = log.producers.get(request.producer.producer_id)
        same = entry is not None and entry.epoch == request.producer.producer_epoch
        return entry.last_sequence + 1 if entry is not None and same else 0

    def _patiently(self, request: Any, version: int | None = None) -> Any:
        exchange = self.broker.send(request, version)
        while not exchange.is_answered:
            self.broker.advance(10)
        return exchange.response

    def _ask(self) -> None:
        alive = [producer for producer in self.producers if not producer.is_dead]
        if not alive or self.chance.random() < 0.05:
            alive = [Producer(f"p{len(self.producers)}", self.chance.choice(IDS), self.chance)]
            self.producers += alive
        producer = self.chance.choice(alive)
        request, answered = producer.next_request()
        roll = self.chance.random()
        if roll < 0.05:
            self.delayed.append(request)
            producer.unanswered(request)
            return
        if roll < 0.15 and not isinstance(request, Produce):
            self.delayed.append(request)
        reply = self.serve(request)
        if roll > 0.97:
            producer.unanswered(request)
        else:
            answered(reply)

    def _move_leader(self, at: TopicPartition, leader: int) -> None:
        partition = self.broker.partition(*at)
        old = partition.leadership
        partition.lead_or_follow(
            Leadership(leader, old.leader_epoch + 1, old.replicas, old.isr, old.partition_epoch)
        )

    def _reload(self, coordinators: Coordinators) -> None:
        for index, partition in list(self.broker.partitions.named(coordinators.topic).items()):
            coordinators.resign(index)
            coordinators.lead(partition)
        self.broker.scheduler.settle()

    def visible(self, at: TopicPartition) -> list[str]:
        """What a read_committed consumer makes of what it fetches, with the list of the aborted."""
        wanted = FetchPartition(partition=at.partition, partition_max_bytes=1 << 20)
        request = FetchRequest(
            isolation_level=1, topics=[FetchTopic(topic=at.topic, partitions=[wanted])]
        )
        (one,) = self.broker.ask(request, 12).responses[0].partitions
        assert one.error_code == 0
        assert one.last_stable_offset == one.high_watermark, "hanging"
        aborted = sorted(
            (txn.first_offset, txn.producer_id) for txn in one.aborted_transactions or ()
        )
        ignored: set[int] = set()
        values: list[str] = []
        data = bytes(one.records)
        for position, header in iter_headers(data):
            while aborted and aborted[0][0] <= header.last_offset:
                ignored.add(aborted.pop(0)[1])
            for record in read_batch(data, position):
                if header.is_control:
                    if control_type(record) is ControlType.ABORT:
                        ignored.discard(header.producer_id)
                elif header.producer_id not in ignored:
                    values.append((record.value or b"").decode())
        return values


def _identity(response: Any) -> Any:
    if response.error_code:
        return _retriable(response.error_code)
    return ProducerIdentity(response.producer_id, response.producer_epoch)


def _retriable(code: int) -> KafkaError | None:
    if code == 0:
        return None
    if code in (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NOT_LEADER_OR_FOLLOWER):
        return KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    return KafkaError(ErrorCode(code))


@pytest.fixture(params=range(40))
def storm(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storm]:
    storm = Storm(request.param, tmp_path)
    for _ in range(STEPS):
        storm.step()
    storm.settle()
    yield storm
    storm.broker.close()


def test_readers_see_all_of_a_transaction_or_nothing(storm: Storm) -> None:
    values = {at: storm.visible(at) for at in PARTITIONS}
    seen = {at: set(values[at]) for at in PARTITIONS}
    for at in PARTITIONS:
        assert len(values[at]) == len(seen[at]), "twice"
    for producer in storm.producers:
        for txn in producer.transactions:
            visible = [value in seen[at] for at, value in txn.written]
            assert all(visible) or not any(visible), f"torn {txn}"
            if txn.end == "committed":
                assert all(visible), f"lost {txn}"
            if txn.end in ("aborted", "open"):
                assert not any(visible), f"aborted, but read {txn}"
    for shard in storm.broker.transactions.transactions.coordinators:
        for transaction in shard.coordinator:
            assert transaction.state.label in ("Empty", "CompleteCommit", "CompleteAbort")
