"""How long a start takes after kill -9, against the size of the log.

Segments are 100 MB here, and a segment is flushed when the next one begins, so what must be read
again is at most the last segment: the time should depend on that and not on the size of the log.
"""

import time

from bench.brokers import Brokers, settle
from bench.client_programs import ProducerRun, producer_performance
from bench.peer import Peer
from bench.rows import Side
from bench.scale import Amount
from bench.scenarios.scenario import SIDE_NAMES, Outcome, medians, say

GIGABYTES = 14.0

_TOPIC = "bench-recovery"
_RECORD_SIZE = 1000
_CONFIG = {"segment.bytes": "100000000"}
_PROPERTIES = {"batch.size": "65536", "linger.ms": "5", "acks": "1"}
_TAIL_RECORDS = 30_000
#: How often recovery points are written down; Kafka's default is a minute.
_SETTINGS = {"log.flush.offset.checkpoint.interval.ms": "1000"}
_CHECKPOINTED_SECONDS = 3.0


def run(brokers: Brokers, quick: bool) -> Outcome:
    thousands = (100, 300) if quick else (100, 1_000, 4_000)
    rounds = 1 if quick else 3
    raw: dict[str, list[dict[str, float]]] = {}
    rows = []
    for size in thousands:
        for side in Side:
            measured = _measure(brokers, side, size * 1000, rounds)
            brokers.remove(side, "recovery")
            raw[f"{side} {size} MB"] = measured
            figures = medians(measured)
            say(f"{side}, {size} MB: {figures}")
            rows.append(
                (
                    SIDE_NAMES[side],
                    f"{size * _RECORD_SIZE / 1e6:.1f} GB",
                    f"{figures['clean_seconds']:.2f} s",
                    f"{figures['killed_seconds']:.2f} s",
                )
            )
    columns = ("", "log", "start after a clean stop", "start after kill -9")
    return Outcome(columns, rows, raw)


def _measure(brokers: Brokers, side: Side, records: int, rounds: int) -> list[dict[str, float]]:
    measured = []
    held = records
    with brokers.running(side, "recovery", _SETTINGS) as peer:
        peer.create_topic(_TOPIC, 1, _CONFIG)
        _produce(peer, records)
    settle()
    for _ in range(rounds):
        with brokers.running(side, "recovery", _SETTINGS) as peer:
            clean_seconds = peer.node.start_seconds
            _produce(peer, _TAIL_RECORDS)
            held += _TAIL_RECORDS
            time.sleep(_CHECKPOINTED_SECONDS)
            peer.node.kill()
        with brokers.running(side, "recovery", _SETTINGS) as peer:
            killed_seconds = peer.node.start_seconds
            found = peer.end_offsets(_TOPIC, 1)
            if found != held:
                raise RuntimeError(f"{side} holds {found} of {held} records after kill -9")
        measured.append({"clean_seconds": clean_seconds, "killed_seconds": killed_seconds})
    return measured


def _produce(peer: Peer, records: int) -> None:
    run = ProducerRun(_TOPIC, Amount(records, records // 10), _PROPERTIES, _RECORD_SIZE)
    producer_performance(peer.bootstrap, run)
