"""Produce latency while a gigabyte is being compacted, against the same broker when idle.

The records to compact are loaded into a topic with cleanup.policy=delete. When the steady producer
has warmed up, the policy becomes `compact`; the latencies are those until the cleaner's checkpoint
says that the partition is clean.
"""

import subprocess
import sys
import time
from pathlib import Path

from bench.brokers import Brokers, settle
from bench.paced_producer import Pace, PacedProducer
from bench.peer import Peer
from bench.rows import Side
from bench.scenarios.scenario import SIDE_NAMES, Outcome, medians, say
from tests.support.tools import REPOSITORY

GIGABYTES = 8.0

_COMPACTED = "bench-compacted"
_PACED = "bench-paced"
_PARTITIONS = 4
_RECORD_SIZE = 1000
_SEGMENT_BYTES = 100_000_000
_LOAD_SECONDS = 300
_CLEAN_SECONDS = 240
#: So that the cleaner looks soon; Kafka's default is 15 seconds.
_SETTINGS = {"log.cleaner.backoff.ms": "500"}


def run(brokers: Brokers, quick: bool) -> Outcome:
    records = 200_000 if quick else 1_000_000
    rounds = 1 if quick else 3
    measured: dict[Side, list[dict[str, float]]] = {side: [] for side in Side}
    for _ in range(rounds):
        for side in Side:
            with brokers.running(side, "compaction", _SETTINGS) as peer:
                figures = _measure(peer, records)
            brokers.remove(side, "compaction")
            measured[side].append(figures)
            say(f"{side}: {figures}")
    columns = ("", "p50 idle", "p99 idle", "p50 compacting", "p99 compacting", "took", "log")
    rows = [_row(side, medians(measured[side])) for side in Side]
    return Outcome(columns, rows, measured)


def _row(side: Side, figures: dict[str, float]) -> tuple[str, ...]:
    names = ("idle_p50_ms", "idle_p99_ms", "compacting_p50_ms", "compacting_p99_ms")
    return (
        SIDE_NAMES[side],
        *(f"{figures[name]:.2f} ms" for name in names),
        f"{figures['compacting_seconds']:.1f} s",
        f"{figures['megabytes_before']:,.0f} to {figures['megabytes_after']:,.0f} MB",
    )


def _measure(peer: Peer, records: int) -> dict[str, float]:
    config = {"cleanup.policy": "delete", "segment.bytes": str(_SEGMENT_BYTES)}
    peer.create_topic(_COMPACTED, 1, config)
    peer.create_topic(_PACED, _PARTITIONS)
    _load(peer, records)
    settle()
    with PacedProducer(peer, [_PACED], _PARTITIONS, Pace()) as producer:
        idle = producer.wait()
    directory = peer.node.directory / f"{_COMPACTED}-0"
    before = _megabytes(directory)
    with PacedProducer(
        peer, [_PACED], _PARTITIONS, Pace(seconds_most=_CLEAN_SECONDS + 30)
    ) as producer:
        producer.wait_until_measuring()
        began = time.monotonic()
        peer.set_topic_config(
            _COMPACTED, {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
        )
        _wait_until_clean(peer.node.directory, began + _CLEAN_SECONDS)
        took = time.monotonic() - began
        compacting = producer.stop()
    return {
        **{f"idle_{name}": value for name, value in idle.items()},
        **{f"compacting_{name}": value for name, value in compacting.items()},
        "compacting_seconds": took,
        "megabytes_before": before,
        "megabytes_after": _megabytes(directory),
    }


def _load(peer: Peer, records: int) -> None:
    arguments = (peer.bootstrap, _COMPACTED, records, records // 5, _RECORD_SIZE, _LOAD_SECONDS)
    subprocess.run(
        [sys.executable, "-m", "bench.clients.keyed_producer", *map(str, arguments)],
        check=True,
        timeout=_LOAD_SECONDS + 30,
        cwd=REPOSITORY,
    )


def _wait_until_clean(data_directory: Path, deadline: float) -> None:
    """Until the cleaner has noted how far the partition is clean."""
    checkpoint = data_directory / "cleaner-offset-checkpoint"
    while time.monotonic() < deadline:
        if checkpoint.exists():
            lines = checkpoint.read_text().splitlines()
            if any(line.startswith(f"{_COMPACTED} 0 ") for line in lines):
                return
        time.sleep(0.05)
    raise RuntimeError(f"not compacted within {_CLEAN_SECONDS} s")


def _megabytes(directory: Path) -> float:
    # Segments that wait for their deletion are gone as far as readers can see.
    return sum(path.stat().st_size for path in directory.glob("*.log")) / 1e6
