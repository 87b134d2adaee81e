"""The work that is measured: each workload drives one broker with one client program.

A workload gives figures by row key. Every one of them also notes the broker's CPU seconds per
million records, whether or not a row shows it.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from bench.client_programs import (
    TIMEOUT_SECONDS,
    ProducerRun,
    bench_java,
    librdkafka_consumer,
    librdkafka_latency,
    producer_performance,
)
from bench.peer import Peer
from bench.rows import CPU_PREFIX
from bench.scale import Amount, Scale

RECORD_SIZE = 100
CONSUME_TOPIC = "bench-consume"
CONSUME_PARTITIONS = 4

#: What a side made of one workload, by row key.
Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Workload(ABC):
    """One kind of work on a running broker."""

    name: str
    amount: Amount
    #: Partitions of the topic that the work fills; none, and it reads the loaded topic.
    partitions: int

    @abstractmethod
    def figures(self, peer: Peer) -> Figures:
        """Do the work; the figures without the CPU."""

    @property
    def topic(self) -> str:
        return f"bench-{self.name}"

    @property
    def needs_records(self) -> bool:
        """Whether the records to read must lie in the log before."""
        return self.partitions == 0

    @property
    def records(self) -> int:
        """All records the broker handles, the warm-up ones included."""
        return self.amount.records

    def prepare(self, peer: Peer) -> None:
        """Make the topic, before the broker's CPU is watched."""
        if self.partitions:
            peer.create_topic(self.topic, self.partitions)

    def measure(self, peer: Peer) -> Figures:
        """Do the work and add what it cost the broker."""
        before = peer.cpu_seconds()
        figures = self.figures(peer)
        spent = peer.cpu_seconds() - before
        return {**figures, f"{CPU_PREFIX}{self.name}": spent / self.records * 1e6}

    def clean_up(self, peer: Peer) -> None:
        """Check that the broker holds what it was given, and remove it."""
        if self.partitions:
            held = peer.end_offsets(self.topic, self.partitions)
            if held != self.records:
                raise RuntimeError(f"{peer.side} holds {held} of {self.records} records")
            peer.delete_topic(self.topic)


@dataclass(frozen=True, slots=True)
class Produce(Workload):
    """ProducerPerformance with 100-byte records."""

    properties: Mapping[str, str]

    def figures(self, peer: Peer) -> Figures:
        run = ProducerRun(self.topic, self.amount, self.properties)
        return {self.name: producer_performance(peer.bootstrap, run)}


@dataclass(frozen=True, slots=True)
class ConsumeWithLibrdkafka(Workload):
    """confluent-kafka's consume loop on assigned partitions."""

    def figures(self, peer: Peer) -> Figures:
        rate = librdkafka_consumer(
            peer.bootstrap, CONSUME_TOPIC, CONSUME_PARTITIONS, self.amount.records
        )
        return {self.name: rate}


@dataclass(frozen=True, slots=True)
class ConsumeWithJava(Workload):
    """The Java consumer on assigned partitions."""

    @property
    def records(self) -> int:
        return self.amount.warmup + self.amount.records

    def figures(self, peer: Peer) -> Figures:
        amounts = (CONSUME_PARTITIONS, self.amount.records, self.amount.warmup)
        done = bench_java(
            "AssignedConsumer", peer.bootstrap, CONSUME_TOPIC, *amounts, TIMEOUT_SECONDS - 10
        )
        return {self.name: done["records"] / done["seconds"]}


@dataclass(frozen=True, slots=True)
class Latency(Workload):
    """One record in flight between the Java producer and the Java consumer."""

    def figures(self, peer: Peer) -> Figures:
        amounts = (self.amount.records, self.amount.warmup, RECORD_SIZE)
        done = bench_java(
            "EndToEndLatency", peer.bootstrap, self.topic, *amounts, TIMEOUT_SECONDS - 10
        )
        return {
            "latency-p50": done["p50_ms"],
            "latency-p99": done["p99_ms"],
            "latency-p999": done["p999_ms"],
        }


@dataclass(frozen=True, slots=True)
class LatencyWithLibrdkafka(Workload):
    """The same between librdkafka's producer and consumer, as a Python program sees it."""

    def figures(self, peer: Peer) -> Figures:
        done = librdkafka_latency(
            peer.bootstrap, self.topic, self.amount.records, self.amount.warmup, RECORD_SIZE
        )
        return {f"{self.name}-p50": done["p50_ms"], f"{self.name}-p99": done["p99_ms"]}


def all_workloads(scale: Scale) -> tuple[Workload, ...]:
    """Every workload of the tables, in their order."""
    large = {"batch.size": "65536", "linger.ms": "5", "acks": "all"}
    large_lz4 = {**large, "compression.type": "lz4"}
    single = {"batch.size": "0", "linger.ms": "0", "acks": "1"}
    return (
        Produce("produce-defaults", scale.produce_defaults, 4, {"acks": "1"}),
        Produce("produce-64k", scale.produce_64k, 4, large),
        Produce("produce-lz4", scale.produce_lz4, 4, large_lz4),
        # A request carries a batch per partition: one partition makes it one record.
        Produce("produce-single", scale.produce_single, 1, single),
        ConsumeWithLibrdkafka("consume-librdkafka", scale.consume_librdkafka, 0),
        ConsumeWithJava("consume-java", scale.consume_java, 0),
        Latency("latency", scale.latency, 1),
        LatencyWithLibrdkafka("latency-librdkafka", scale.latency_librdkafka, 1),
    )


def load_consume_topic(peer: Peer, records: int) -> None:
    """Fill the topic that the consumers read, as a producer with defaults fills it."""
    peer.create_topic(CONSUME_TOPIC, CONSUME_PARTITIONS)
    run = ProducerRun(CONSUME_TOPIC, Amount(records, records // 10), {"acks": "1"})
    producer_performance(peer.bootstrap, run)
