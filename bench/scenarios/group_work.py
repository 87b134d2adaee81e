"""The work of the group scenarios: each piece drives one broker and gives figures by row key."""

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass

from bench.client_programs import CLIENT_JVM, ProducerRun, bench_java, output_of
from bench.client_programs import producer_performance as run_producer
from bench.peer import Peer
from bench.scale import Amount
from tests.support.java import java_command

MEMBERS = 50
SETTLE_PARTITIONS = 200
SETTLE_TOPIC = "bench-settle"
COMMITS_TOPIC = "bench-commits"
CONNECTIONS = 20
CONSUME_TOPIC = "bench-group-consume"
CONSUME_PARTITIONS = 4
_TRANSACTIONS_TOPIC = "bench-transactions"

SESSION_MS = 6000
HEARTBEAT_MS = 500
_SECONDS_MOST = 90

_RECORDS_PER_SECOND = re.compile(r"^\d{4}-.*$", re.MULTILINE)
_FETCH_RATE_COLUMN = 9
_numbers = itertools.count()

Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Work:
    """One piece of work and the unit that its share of the broker's CPU is counted in."""

    name: str
    figures: Callable[[Peer], Figures]

    def measure(self, peer: Peer) -> Figures:
        """Do it; what the broker's CPU was goes under a key of its own."""
        before = peer.cpu_seconds()
        figures = self.figures(peer)
        spent = peer.cpu_seconds() - before
        units = figures.pop("units", 1.0)
        return {**figures, f"cpu-{self.name}": spent / units}


def settle(protocol: str) -> Work:
    """A group of fifty starts, and then a member is killed."""

    def figures(peer: Peer) -> Figures:
        done = bench_java(
            *("GroupSettle", peer.bootstrap, SETTLE_TOPIC, SETTLE_PARTITIONS, MEMBERS),
            *(protocol, SESSION_MS, HEARTBEAT_MS, _SECONDS_MOST),
        )
        return {
            f"{protocol}-start": done["start_seconds"],
            f"{protocol}-death": done["death_seconds"],
        }

    return Work(f"settle-{protocol}", figures)


def commits(warmup_seconds: float, seconds: float) -> Work:
    """commitSync from twenty Java consumers at once; CPU per 10,000 commits, warm-up included."""

    def figures(peer: Peer) -> Figures:
        done = bench_java(
            *("OffsetCommits", peer.bootstrap, COMMITS_TOPIC, CONNECTIONS),
            *(str(warmup_seconds), str(seconds)),
        )
        rate = done["commits"] / done["seconds"]
        return {"commits": rate, "units": done["with_warmup"] / 10_000}

    return Work("commits", figures)


def transactions(amount: Amount) -> Work:
    """ProducerPerformance, 100 bytes a record, a transaction each 100 ms."""

    def figures(peer: Peer) -> Figures:
        topic = f"{_TRANSACTIONS_TOPIC}-{next(_numbers)}"
        peer.create_topic(topic, CONSUME_PARTITIONS)
        options = ("--transactional-id", topic, "--transaction-duration-ms", "100")
        rate = run_producer(peer.bootstrap, ProducerRun(topic, amount, {"acks": "all"}), *options)
        peer.delete_topic(topic)
        return {"transactions": rate, "units": amount.records / 1e6}

    return Work("transactions", figures)


def group_consume(records: int) -> Work:
    """ConsumerPerformance in a new group; its own rate without the time of the rebalance."""

    def figures(peer: Peer) -> Figures:
        output = output_of(
            java_command(
                "ConsumerPerformance",
                *("--bootstrap-server", peer.bootstrap, "--topic", CONSUME_TOPIC),
                *("--messages", str(records), "--timeout", "60000", "--hide-header"),
                *("--group", f"bench-{next(_numbers)}"),
                jvm=CLIENT_JVM,
            )
        )
        return {"group-consume": _fetch_rate(output), "units": records / 1e6}

    return Work("group-consume", figures)


def _fetch_rate(output: str) -> float:
    line = _RECORDS_PER_SECOND.search(output)
    if line is None:
        raise RuntimeError(f"no figures in the output of ConsumerPerformance\n{output}")
    return float(line.group().split(",")[_FETCH_RATE_COLUMN])
