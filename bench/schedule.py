"""The order of a run: both sides take turns, workload by workload, and swap who goes first."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from bench.brokers import Brokers, settle
from bench.measurements import Measurement, Measurements
from bench.peer import Peer
from bench.progress import Progress, shown
from bench.rows import MEMORY, START, Side, Table
from bench.workloads import Workload, load_consume_topic

#: The workload after which a fresh broker's memory is read.
_MEMORY_WORKLOAD = "produce-defaults"
_LOADED = "loaded"
_FIRST_MINUTE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Plan:
    """One table's worth of work."""

    table: Table
    workloads: Sequence[Workload]
    #: The same ones as the rounds before the measured ones do them.
    warmup_workloads: Sequence[Workload]
    consume_records: int
    warmup_rounds: int
    rounds: int

    def round_numbers(self) -> range:
        """Warm-up rounds are below zero."""
        return range(-self.warmup_rounds, self.rounds)

    def workloads_of(self, round_number: int) -> Sequence[Workload]:
        return self.workloads if round_number >= 0 else self.warmup_workloads

    def steps(self) -> Iterator[str]:
        """A name for each measurement, as the progress counts them."""
        for round_number in self.round_numbers():
            for workload in self.workloads_of(round_number):
                for side in Side:
                    yield self.step_name(round_number, workload, side)

    def step_name(self, round_number: int, workload: Workload, side: Side) -> str:
        """What takes about as long each time."""
        measured = "" if round_number >= 0 else " warm-up"
        return f"{self.table}{measured} {workload.name} {side}"

    @property
    def needs_records(self) -> bool:
        return any(workload.needs_records for workload in self.workloads)


def turns(round_number: int) -> tuple[Side, Side]:
    """Who goes first in a round."""
    order = (Side.HEADRACE, Side.APACHE)
    return order if round_number % 2 == 0 else (order[1], order[0])


@dataclass(slots=True)
class Recorder:
    """Runs single measurements and keeps what they gave."""

    plan: Plan
    measurements: Measurements
    progress: Progress

    def run(self, workload: Workload, peer: Peer, round_number: int, began: float) -> None:
        """One workload on one broker: prepared, measured, cleaned up, noted."""
        workload.prepare(peer)
        figures = workload.measure(peer)
        if self._reads_memory_after(workload):
            figures[MEMORY] = peer.resident_megabytes()
        if self._reads_start_of(workload):
            figures[START] = peer.node.start_seconds
        age = peer.age_seconds
        workload.clean_up(peer)
        took = time.monotonic() - began
        table, measured = self.plan.table, round_number >= 0
        self.measurements.add(
            Measurement(table, round_number, measured, peer.side, workload.name, figures, age, took)
        )
        name = f"round {round_number + 1}/{self.plan.rounds}" if measured else "warm-up"
        text = f"{table} {name}, {peer.side}, {workload.name}: {shown(figures)}"
        if table is Table.FIRST_MINUTE and age > _FIRST_MINUTE_SECONDS:
            text += f" (the broker was {age:.0f} s old at the end)"
        self.progress.done(self.plan.step_name(round_number, workload, peer.side), took, text)

    def _reads_memory_after(self, workload: Workload) -> bool:
        if self.plan.table is Table.WARM:
            return workload.name == self.plan.workloads[-1].name
        return workload.name == _MEMORY_WORKLOAD

    def _reads_start_of(self, workload: Workload) -> bool:
        # A broker that starts on millions of records is another question.
        return self.plan.table is Table.FIRST_MINUTE and not workload.needs_records


def run_warm(brokers: Brokers, recorder: Recorder) -> None:
    """Both brokers stay up for the whole table."""
    plan = recorder.plan
    with ExitStack() as stack:
        peers = {side: stack.enter_context(brokers.running(side, "warm")) for side in Side}
        if plan.needs_records:
            for peer in peers.values():
                load_consume_topic(peer, plan.consume_records)
        for round_number in plan.round_numbers():
            for workload in plan.workloads_of(round_number):
                for side in turns(round_number):
                    began = time.monotonic()
                    settle()
                    recorder.run(workload, peers[side], round_number, began)
    for side in Side:
        brokers.remove(side, "warm")


def run_first_minute(brokers: Brokers, recorder: Recorder) -> None:
    """Every measurement has a broker of its own that was started for it."""
    plan = recorder.plan
    if plan.needs_records:
        for side in Side:
            with brokers.running(side, _LOADED) as peer:
                load_consume_topic(peer, plan.consume_records)
    for round_number in plan.round_numbers():
        for workload in plan.workloads:
            for side in turns(round_number):
                _run_fresh(brokers, recorder, workload, side, round_number)
    for side in Side:
        brokers.remove(side, _LOADED)


def _run_fresh(
    brokers: Brokers, recorder: Recorder, workload: Workload, side: Side, round_number: int
) -> None:
    began = time.monotonic()
    settle()
    name = _LOADED if workload.needs_records else "fresh"
    with brokers.running(side, name) as peer:
        recorder.run(workload, peer, round_number, began)
    if name != _LOADED:
        brokers.remove(side, name)
