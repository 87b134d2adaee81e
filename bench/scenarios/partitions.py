"""Start, memory and produce latency as the number of partitions grows from 10 to 10,000.

The broker is stopped and started again on its partitions; then a steady producer writes to
partitions drawn at random. Headrace runs with 1,024 file descriptors, Apache Kafka, which keeps
every partition's files open, with as many as the system gives.
"""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

from bench.brokers import Brokers, settle
from bench.paced_producer import Pace, PacedProducer
from bench.rows import Side
from bench.scenarios.scenario import SIDE_NAMES, Outcome, say

GIGABYTES = 4.0

_COUNTS = (10, 1_000, 10_000)
#: KRaft refuses to create more than about 10,000 partitions at once.
_PARTITIONS_PER_TOPIC_MOST = 1_000
_FEW_DESCRIPTORS = 1_024


def run(brokers: Brokers, quick: bool) -> Outcome:
    counts = _COUNTS[:2] if quick else _COUNTS
    pace = Pace(warmup_seconds=3, seconds_most=5) if quick else Pace()
    raw: dict[str, dict[str, float]] = {}
    rows = []
    for count in counts:
        for side in Side:
            settle()
            with _descriptors(side):
                figures = _measure(brokers, side, count, pace)
            brokers.remove(side, "partitions")
            raw[f"{side} {count}"] = figures
            say(f"{side}, {count} partitions: {figures}")
            rows.append(_row(side, count, figures))
    columns = ("", "partitions", "start", "memory at start", "and after the load", "p50", "p99")
    return Outcome(columns, rows, raw)


def _row(side: Side, count: int, figures: dict[str, float]) -> tuple[str, ...]:
    return (
        SIDE_NAMES[side],
        f"{count:,}",
        f"{figures['start_seconds']:.2f} s",
        f"{figures['megabytes_at_start']:.0f} MB",
        f"{figures['megabytes_after_load']:.0f} MB",
        f"{figures['p50_ms']:.2f} ms",
        f"{figures['p99_ms']:.2f} ms",
    )


def _measure(brokers: Brokers, side: Side, count: int, pace: Pace) -> dict[str, float]:
    partitions = min(count, _PARTITIONS_PER_TOPIC_MOST)
    topics = [f"bench-many-{index}" for index in range(count // partitions)]
    with brokers.running(side, "partitions") as peer:
        for topic in topics:
            peer.create_topic(topic, partitions)
    with brokers.running(side, "partitions") as peer:
        at_start = peer.resident_megabytes()
        with PacedProducer(peer, topics, partitions, pace) as producer:
            latencies = producer.wait()
        return {
            "start_seconds": peer.node.start_seconds,
            "megabytes_at_start": at_start,
            "megabytes_after_load": peer.resident_megabytes(),
            **latencies,
        }


@contextmanager
def _descriptors(side: Side) -> Iterator[None]:
    """The limit that the broker started inside will inherit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FEW_DESCRIPTORS if side is Side.HEADRACE else hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
