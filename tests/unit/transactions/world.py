"""Producers, a network that loses and delays, partitions, and the real coordinator between them.

Everything that chance decides comes from one seed. A producer writes values that name its
transaction; partitions follow the rules of KIP-890; markers reach them whenever they do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from headrace.base.errors import ErrorCode, KafkaError
from headrace.transactions.config import TransactionConfig
from headrace.transactions.effects import WriteMarkers
from headrace.transactions.requests import AddPartitions, EndTransaction, InitProducer
from headrace.transactions.transaction import ProducerIdentity, TopicPartition
from tests.unit.transactions.runner import Runner

VERSION = 2
PARTITIONS = [TopicPartition("t", index) for index in range(3)]
_ASK_AGAIN = {ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.COORDINATOR_NOT_AVAILABLE}


class Written(NamedTuple):
    """A record, or the marker that ended what its producer had open."""

    producer_id: int
    value: str
    committed: bool | None = None


@dataclass
class Part:
    """One partition: its log, and what it remembers of producers."""

    log: list[Written] = field(default_factory=list)
    epochs: dict[int, int] = field(default_factory=dict)
    is_open: dict[int, bool] = field(default_factory=dict)

    def visible(self) -> list[str]:
        """What a read_committed consumer gets; it must not get stuck before the end."""
        pending: dict[int, list[str]] = {}
        seen: list[str] = []
        for entry in self.log:
            if entry.committed is None:
                pending.setdefault(entry.producer_id, []).append(entry.value)
            elif entry.committed:
                seen += pending.pop(entry.producer_id, [])
            else:
                pending.pop(entry.producer_id, None)
        assert not any(pending.values()), f"open for ever: {pending}"
        return seen


@dataclass
class Txn:
    """A transaction as its producer saw it."""

    name: str
    written: list[tuple[TopicPartition, str]] = field(default_factory=list)
    #: "open", "committed", "aborted", or "unknown" if the producer never heard.
    end: str = "open"


class Producer:
    """Works until it is fenced or gives up; one request at a time, repeated if unanswered."""

    def __init__(self, name: str, transactional_id: str, chance: Random) -> None:
        self.name = name
        self.transactional_id = transactional_id
        self.identity: ProducerIdentity | None = None
        self.is_dead = False
        self.transactions: list[Txn] = []
        self._chance = chance
        self._count = 0

    def next_request(self) -> tuple[Any, Callable[[Any], None]]:
        """What it asks now, and what it makes of the answer."""
        if self.identity is None:
            return InitProducer(self.transactional_id, 5_000), self._initialized
        if not self.transactions or self.transactions[-1].end != "open":
            self.transactions.append(Txn(f"{self.name}.{len(self.transactions)}"))
        txn = self.transactions[-1]
        if self._chance.random() < 0.6:
            self._count += 1
            at = self._chance.choice(PARTITIONS)
            value = f"{txn.name}#{self._count}"
            produce = Produce(self.transactional_id, self.identity, at, value)
            return produce, lambda reply: self._produced(txn, produce, reply)
        committed = self._chance.random() < 0.6 and bool(txn.written)
        request = EndTransaction(self.transactional_id, self.identity, committed, VERSION)
        return request, lambda reply: self._ended(txn, committed, reply)

    def unanswered(self, request: Any) -> None:
        """No answer will come: nobody knows what happened."""
        if isinstance(request, EndTransaction):
            self.transactions[-1].end = "unknown"
            self.is_dead = True
        elif isinstance(request, Produce):
            # A producer that is unsure of a write may only abort; this one goes away.
            self.transactions[-1].end = "unknown"
            self.is_dead = True

    def _initialized(self, reply: Any) -> None:
        if isinstance(reply, KafkaError):
            self.is_dead = reply.code not in _ASK_AGAIN
        else:
            self.identity = reply

    def _produced(self, txn: Txn, produce: Produce, reply: Any) -> None:
        if isinstance(reply, KafkaError):
            if reply.code not in _ASK_AGAIN:
                txn.end, self.is_dead = "unknown", True
        else:
            txn.written.append((produce.at, produce.value))

    def _ended(self, txn: Txn, committed: bool, reply: Any) -> None:
        if isinstance(reply, KafkaError):
            if reply.code not in _ASK_AGAIN:
                txn.end, self.is_dead = "unknown", True
            return
        txn.end = "committed" if committed else "aborted"
        self.identity = reply


class Produce(NamedTuple):
    transactional_id: str
    producer: ProducerIdentity
    at: TopicPartition
    value: str


class World:
    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.runner = Runner(TransactionConfig(abort_check_interval_ms=1_000))
        self.parts = {at: Part() for at in PARTITIONS}
        self.producers: list[Producer] = []
        #: Requests that were sent, answered or not, and may still arrive, again or at last.
        self.delayed: list[Any] = []
        #: Markers on their way, by partition.
        self.on_the_way: list[tuple[WriteMarkers, TopicPartition]] = []
        self.left: dict[tuple[int, int], set[TopicPartition]] = {}

    def step(self) -> None:
        roll = self.chance.random()
        if roll < 0.70:
            self._ask()
        elif roll < 0.85:
            self._deliver_marker()
        elif roll < 0.93 and self.delayed:
            self.serve(self.delayed.pop(self.chance.randrange(len(self.delayed))))
        elif roll < 0.96:
            self.runner.advance(self.chance.randrange(3_000))
        elif roll < 0.98:
            self.runner.write_error = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        else:
            self.on_the_way.clear()
            self.left.clear()
            self.runner.restart()
        self._collect_markers()

    def settle(self) -> None:
        """The producers are gone, the network is quiet; everything that must end, ends."""
        self.delayed.clear()
        self.runner.write_error = None
        for _ in range(10):
            self._collect_markers()
            while self.on_the_way:
                self._deliver_marker()
            self.runner.advance(10_000)

    def serve(self, request: Any) -> Any:
        """What the broker answers."""
        if not isinstance(request, Produce):
            return self.runner.ask(request)
        part = self.parts[request.at]
        producer_id, epoch = request.producer
        if epoch < part.epochs.get(producer_id, -1):
            return KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH)
        if not (part.is_open.get(producer_id) and part.epochs[producer_id] == epoch):
            added = AddPartitions(
                request.transactional_id, request.producer, frozenset({request.at}), VERSION
            )
            reply = self.runner.ask(added)
            if isinstance(reply, KafkaError):
                return reply
        part.epochs[producer_id], part.is_open[producer_id] = epoch, True
        part.log.append(Written(producer_id, request.value))
        return None

    def _ask(self) -> None:
        alive = [producer for producer in self.producers if not producer.is_dead]
        if not alive or self.chance.random() < 0.05:
            name = f"p{len(self.producers)}"
            alive = [Producer(name, self.chance.choice(["x", "x", "y"]), self.chance)]
            self.producers += alive
        producer = self.chance.choice(alive)
        request, answered = producer.next_request()
        roll = self.chance.random()
        if roll < 0.05:  # lost, or late: the producer does not wait for it
            if self.chance.random() < 0.5:
                self.delayed.append(request)
            producer.unanswered(request)
            return
        if roll < 0.15 and not isinstance(request, Produce):
            self.delayed.append(request)  # sent twice by a nervous network
        reply = self.serve(request)
        if roll > 0.97:
            producer.unanswered(request)
        else:
            answered(reply)

    def _collect_markers(self) -> None:
        while self.runner.markers:
            work = self.runner.markers[0]
            if not work.partitions:
                self.runner.marked(work)
                continue
            key = (work.producer_id, work.producer_epoch)
            self.runner.markers.remove(work)
            self.left[key] = set(work.partitions)
            self.on_the_way += [(work, at) for at in work.partitions]

    def _deliver_marker(self) -> None:
        if not self.on_the_way:
            return
        number = self.chance.randrange(len(self.on_the_way))
        work, at = self.on_the_way[number]
        if self.chance.random() < 0.1:
            pass  # arrives, but the answer gets lost: it will be sent again
        else:
            del self.on_the_way[number]
        self._mark(work, self.parts[at])
        key = (work.producer_id, work.producer_epoch)
        self.left[key].discard(at)
        if not self.left[key] and not any(w == work for w, _ in self.on_the_way):
            self.runner.markers.append(work)
            self.runner.marked(work)

    def _mark(self, work: WriteMarkers, part: Part) -> None:
        epoch = part.epochs.get(work.producer_id, -1)
        is_open = part.is_open.get(work.producer_id, False)
        if work.producer_epoch < epoch or (work.producer_epoch == epoch and is_open):
            raise AssertionError("a marker met a newer transaction")
        part.epochs[work.producer_id] = work.producer_epoch
        part.is_open[work.producer_id] = False
        part.log.append(Written(work.producer_id, "", work.committed))
