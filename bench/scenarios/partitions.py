"""Start, memory and produce latency as the number of partitions grows from 10 to 10,000.

The broker is stopped and started again on its partitions. Then every partition gets a record,
which says when all of them can be written to, and a steady producer goes on with partitions drawn
at random. Records without an answer in the given time are counted, not an error.

Headrace runs with 1,024 file descriptors, Apache Kafka, which keeps every partition's files open,
with as many as the system gives.
"""

import math
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bench.brokers import Brokers, settle
from bench.paced_producer import Pace, PacedProducer, shown_latency
from bench.peer import Peer
from bench.rows import Side
from bench.scenarios.scenario import SIDE_NAMES, Outcome, medians, say
from bench.schedule import turns

GIGABYTES = 4.0

_COUNTS = (10, 1_000, 10_000)
#: The steady producer has one client a topic, which looks at all its partitions before each send.
_PARTITIONS_PER_TOPIC_MOST = 100
_FEW_DESCRIPTORS = 1_024
_MADE_WITHIN_SECONDS = 120.0

_COLUMNS = (
    *("", "partitions", "start", "a record to each", "memory at start", "and after the load"),
    *("p50", "p99", "without an answer"),
)


def run(brokers: Brokers, quick: bool) -> Outcome:
    counts = _COUNTS[:2] if quick else _COUNTS
    pace = Pace(warmup_seconds=3, seconds_most=5) if quick else Pace()
    rounds = 1 if quick else 3
    raw: dict[str, list[dict[str, float]]] = {}
    rows = []
    for count in counts:
        for round_number in range(rounds):
            for side in turns(round_number):
                settle()
                with _descriptors(side):
                    figures = _measure(brokers, side, count, pace)
                brokers.remove(side, "partitions")
                raw.setdefault(f"{side} {count}", []).append(figures)
                say(f"{side}, {count} partitions: {figures}")
        rows += [_row(side, count, medians(raw[f"{side} {count}"]), pace) for side in Side]
    return Outcome(_COLUMNS, rows, raw)


def _row(side: Side, count: int, figures: dict[str, float], pace: Pace) -> tuple[str, ...]:
    first = figures["first_records_seconds"]
    return (
        SIDE_NAMES[side],
        f"{count:,}",
        f"{figures['start_seconds']:.2f} s",
        f"{first:.2f} s" if math.isfinite(first) else f"not in {pace.first_seconds_most} s",
        f"{figures['megabytes_at_start']:.0f} MB",
        f"{figures['megabytes_after_load']:.0f} MB",
        shown_latency(figures, "p50_ms", 0.5),
        shown_latency(figures, "p99_ms", 0.99),
        f"{figures['unanswered']:,.0f} of {figures['records']:,.0f}",
    )


def _measure(brokers: Brokers, side: Side, count: int, pace: Pace) -> dict[str, float]:
    partitions = min(count, _PARTITIONS_PER_TOPIC_MOST)
    topics = [f"bench-many-{index}" for index in range(count // partitions)]
    with brokers.running(side, "partitions") as peer:
        for topic in topics:
            peer.create_topic(topic, partitions)
        _wait_for_logs(peer, count)
    with brokers.running(side, "partitions") as peer:
        at_start = peer.resident_megabytes()
        with PacedProducer(peer, topics, partitions, pace) as producer:
            latencies = producer.wait()
        after_load = peer.resident_megabytes()
        peer.node.kill()  # its data is not needed any more, and a clean stop can take a minute
    return {
        "start_seconds": peer.node.start_seconds,
        "megabytes_at_start": at_start,
        "megabytes_after_load": after_load,
        **latencies,
    }


def _wait_for_logs(peer: Peer, count: int) -> None:
    """Both brokers answer before they have made all logs; the next start is to find them all."""
    deadline = time.monotonic() + _MADE_WITHIN_SECONDS
    while len(list(peer.node.directory.glob("bench-many-*/partition.metadata"))) < count:
        if time.monotonic() > deadline:
            raise RuntimeError(f"{peer.side} did not make {count} logs")
        time.sleep(0.5)


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
