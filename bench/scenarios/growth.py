"""The produce rate as a log grows to ten gigabytes: it should not fall."""

from contextlib import ExitStack

from bench.brokers import Brokers, settle
from bench.client_programs import ProducerRun, producer_performance
from bench.rows import Side
from bench.scale import Amount
from bench.scenarios.scenario import SIDE_NAMES, Outcome, say
from bench.schedule import turns

GIGABYTES = 26.0

_TOPIC = "bench-growth"
_PARTITIONS = 4
_RECORD_SIZE = 1000
_PROPERTIES = {"batch.size": "65536", "linger.ms": "5", "acks": "1"}


def run(brokers: Brokers, quick: bool) -> Outcome:
    steps = 3 if quick else 10
    records = 100_000 if quick else 1_000_000
    amount = Amount(records, records // 10)
    rates: dict[Side, list[float]] = {side: [] for side in Side}
    with ExitStack() as stack:
        peers = {side: stack.enter_context(brokers.running(side, "growth")) for side in Side}
        for peer in peers.values():
            peer.create_topic(_TOPIC, _PARTITIONS)
        for step in range(steps):
            for side in turns(step):
                settle()
                run = ProducerRun(_TOPIC, amount, _PROPERTIES, _RECORD_SIZE)
                rate = producer_performance(peers[side].bootstrap, run)
                rates[side].append(rate * _RECORD_SIZE / 1e6)
                size = (step + 1) * records * _RECORD_SIZE / 1e9
                say(f"{side}, {size:.1f} GB: {rates[side][-1]:.1f} MB/s")
    columns = ("log grown to", *(f"{SIDE_NAMES[side]} MB/s" for side in Side))
    rows = [
        (
            f"{(step + 1) * records * _RECORD_SIZE / 1e9:.1f} GB",
            *(f"{rates[side][step]:.1f}" for side in Side),
        )
        for step in range(steps)
    ]
    return Outcome(columns, rows, rates)
