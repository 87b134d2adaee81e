"""Groups and transactions: how fast a group settles, commits, reads, and writes exactly once.

Two scenarios of one kind: both brokers are up at once and take turns, first in rounds that warm
both up and are not counted.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from bench.brokers import Brokers
from bench.brokers import settle as write_back
from bench.client_programs import ProducerRun, producer_performance
from bench.markdown import COMPARISON_COLUMNS, comparison_row
from bench.measurements import Comparison, summarise
from bench.peer import Peer
from bench.rows import Row, Side, Table
from bench.scale import Amount
from bench.scenarios import group_work
from bench.scenarios.group_work import Work
from bench.scenarios.scenario import Outcome, say
from bench.schedule import turns

GIGABYTES = 6.0

#: The same on both sides. Kafka's defaults, but for the times after which a silent member of a
#: consumer group is given up: the classic protocol gets the same ones from the client.
_SETTINGS = {
    "group.initial.rebalance.delay.ms": "3000",
    "offsets.topic.num.partitions": "50",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "50",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.consumer.min.session.timeout.ms": str(group_work.SESSION_MS),
    "group.consumer.session.timeout.ms": str(group_work.SESSION_MS),
    "group.consumer.min.heartbeat.interval.ms": str(group_work.HEARTBEAT_MS),
    "group.consumer.heartbeat.interval.ms": str(group_work.HEARTBEAT_MS),
}


def _seconds(key: str, title: str, floor: float, unit: str = "s", digits: int = 2) -> Row:
    return Row(key, title, unit, digits, False, floor)


_SETTLE_ROWS = (
    _seconds("classic-start", "50 classic members, 200 partitions: start until settled", 1.0),
    _seconds("classic-death", "a member is killed until settled", 1.0),
    _seconds("cpu-settle-classic", "broker CPU of both", 0.7),
    _seconds("consumer-start", "50 KIP-848 members, 200 partitions: start until settled", 1.0),
    _seconds("consumer-death", "a member is killed until settled", 1.0),
    _seconds("cpu-settle-consumer", "broker CPU of both", 0.7),
)
_WORK_ROWS = (
    Row("commits", "offset commits, 20 connections", "commits/s", warm_floor=1.0),
    _seconds("cpu-commits", "broker CPU", 0.7, "s/10,000 commits", 3),
    Row("transactions", "transactional produce, one each 100 ms", "records/s", warm_floor=1.0),
    _seconds("cpu-transactions", "broker CPU", 0.7, "s/M records", 3),
    Row("group-consume", "Java consumer in a group", "records/s", warm_floor=1.0),
    _seconds("cpu-group-consume", "broker CPU", 0.7, "s/M records", 3),
)

#: Both brokers are often close together here, and a median of few rounds then says little.
_ROUNDS = 7


def run_settle(brokers: Brokers, quick: bool) -> Outcome:
    """The group of fifty, with both protocols."""

    def prepare(peer: Peer) -> None:
        peer.create_topic(group_work.SETTLE_TOPIC, group_work.SETTLE_PARTITIONS)

    works = [group_work.settle(protocol) for protocol in ("classic", "consumer")]
    # Nearly all of it is waiting for timers, so a single round warms it up.
    plan = _Plan(prepare, works, _SETTLE_ROWS, 1, 1 if quick else _ROUNDS)
    return _run(brokers, plan)


def run_work(brokers: Brokers, quick: bool) -> Outcome:
    """Commits, transactions, and reading in a group."""
    consumed = 500_000 if quick else 5_000_000

    def prepare(peer: Peer) -> None:
        peer.create_topic(group_work.COMMITS_TOPIC, group_work.CONNECTIONS)
        peer.create_topic(group_work.CONSUME_TOPIC, group_work.CONSUME_PARTITIONS)
        amount = Amount(consumed, consumed // 10)
        run = ProducerRun(group_work.CONSUME_TOPIC, amount, {"acks": "1"})
        producer_performance(peer.bootstrap, run)

    works = [
        group_work.commits(4 if quick else 20, 2 if quick else 5),
        group_work.transactions(
            Amount(600_000, 200_000) if quick else Amount(10_000_000, 7_000_000),
        ),
        group_work.group_consume(consumed),
    ]
    plan = _Plan(prepare, works, _WORK_ROWS, 1 if quick else 2, 1 if quick else _ROUNDS)
    return _run(brokers, plan)


@dataclass(frozen=True, slots=True)
class _Plan:
    prepare: Callable[[Peer], None]
    works: Sequence[Work]
    rows: Sequence[Row]
    warmup_rounds: int
    rounds: int


def _run(brokers: Brokers, plan: _Plan) -> Outcome:
    measured: dict[Side, list[dict[str, float]]] = {side: [] for side in Side}
    with ExitStack() as stack:
        peers = {
            side: stack.enter_context(brokers.running(side, "groups", _SETTINGS)) for side in Side
        }
        for peer in peers.values():
            plan.prepare(peer)
        for number in range(-plan.warmup_rounds, plan.rounds):
            figures: dict[Side, dict[str, float]] = {side: {} for side in Side}
            for work in plan.works:
                for side in turns(number):
                    write_back()
                    found = work.measure(peers[side])
                    figures[side] |= found
                    name = f"round {number + 1}/{plan.rounds}" if number >= 0 else "warm-up"
                    say(f"{name}, {side}, {work.name}: {found}")
            if number >= 0:
                for side in Side:
                    measured[side].append(figures[side])
    for side in Side:
        brokers.remove(side, "groups")
    return Outcome(COMPARISON_COLUMNS, [_compared(row, measured) for row in plan.rows], measured)


def _compared(row: Row, measured: dict[Side, list[dict[str, float]]]) -> tuple[str, ...]:
    ours, theirs = (
        summarise(figures[row.key] for figures in measured[side])
        for side in (Side.HEADRACE, Side.APACHE)
    )
    return comparison_row(Comparison(row, Table.WARM, ours, theirs))
