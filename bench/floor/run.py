"""The end to end latency of a broker that costs next to nothing, beside Headrace and Apache Kafka.

The stand-in (standin.c) shows what the clients and the machine need by themselves; the two real
brokers run in the same rounds, since only figures of one run compare.

python bench/floor/run.py --rounds 5 --publish
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path

# Run as a file, the interpreter looks for modules in bench/floor/ instead of in the repository.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.brokers import SCRATCH, brokers_below, settle
from bench.environment import environment
from bench.markdown import environment_line, format_ratio, markdown_table, write_between_markers
from bench.measurements import Summary, summarise
from bench.peer import Peer
from bench.processes import end_cleanly_on_sigterm
from bench.progress import Progress, shown
from bench.results import RAW, save_json
from bench.rows import ROWS, Row, Side
from bench.scale import QUICK, UNMEASURED, WARM, Scale
from bench.workloads import Figures, Latency, LatencyWithLibrdkafka, Workload, all_workloads
from tests.support.node import Node
from tests.support.tools import REPOSITORY

_SOURCE = Path(__file__).with_name("standin.c")
_BUILD = REPOSITORY / ".cache" / "bench-floor"
_GIGABYTES = 4.0
_ROWS = tuple(row for row in ROWS if row.key.startswith("latency-"))


class Contender(StrEnum):
    """Who takes turns."""

    STAND_IN = "stand-in"
    HEADRACE = "headrace"
    APACHE = "apache"


class StandIn(Node):
    """standin.c as a child process: one topic, known from the start, and nothing on disk."""

    kind = "standin"

    def __init__(self, directory: Path, program: Path) -> None:
        super().__init__(directory)
        self.topic = ""
        self._program = program

    @property
    def is_formatted(self) -> bool:
        return True

    def format_directory(self, cluster_id: str | None) -> None:
        """There is no directory."""

    def write_properties(self) -> None:
        """It has no settings."""

    def command(self) -> list[str]:
        return [str(self._program), str(self.port), self.topic]


@dataclass(slots=True)
class StandInPeer(Peer):
    """The stand-in as the workloads drive a broker; it lives as long as its topic."""

    node: StandIn

    def create_topic(
        self, topic: str, partitions: int, config: Mapping[str, str] | None = None
    ) -> None:
        if partitions != 1 or config:
            raise ValueError("the stand-in has one partition and no settings")
        self.node.topic = topic
        self.node.start()

    def delete_topic(self, topic: str) -> None:
        self.node.stop()


@dataclass(frozen=True, slots=True)
class Turn:
    """The figures of one workload on one contender in one round; warm-up rounds are below 0."""

    round_number: int
    contender: Contender
    workload: str
    figures: Figures


@dataclass(slots=True)
class Turns:
    """Everything that was measured."""

    items: list[Turn] = field(default_factory=list)

    def summary(self, contender: Contender, key: str) -> Summary | None:
        """Median and spread over the measured rounds, once there is one."""
        values = [
            turn.figures[key]
            for turn in self.items
            if turn.round_number >= 0 and turn.contender is contender and key in turn.figures
        ]
        return summarise(values) if values else None


def main() -> None:
    arguments = _parser().parse_args()
    end_cleanly_on_sigterm()
    measured = QUICK if arguments.quick else WARM
    unmeasured = QUICK if arguments.quick else UNMEASURED
    rounds = [
        (number, _workloads(measured if number >= 0 else unmeasured))
        for number in range(-arguments.warmup, arguments.rounds)
    ]
    turns = Turns()
    try:
        with _contenders(arguments.scratch) as peers:
            _run(rounds, peers, turns)
    finally:
        measured_on = environment()
        if turns.items:
            content = {
                "environment": measured_on,
                "arguments": {name: str(value) for name, value in vars(arguments).items()},
                "turns": [asdict(turn) for turn in turns.items],
            }
            path = save_json(content, arguments.output, "floor")
            print(f"\n{_table(turns)}\nEvery figure: {path}")
    if arguments.publish:
        publish(turns, measured_on)


def publish(turns: Turns, measured_on: Mapping[str, str]) -> None:
    """Write the table into docs/BENCHMARKS.md."""
    write_between_markers("bench: floor", f"{_table(turns)}\n{environment_line(measured_on)}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds")
    parser.add_argument("--warmup", type=int, default=3, help="unmeasured rounds before them")
    parser.add_argument("--quick", action="store_true", help="small amounts: does it work?")
    parser.add_argument("--publish", action="store_true", help="renew the table in docs/")
    parser.add_argument("--scratch", type=Path, default=SCRATCH, help="where brokers keep data")
    parser.add_argument("--output", type=Path, default=RAW, help="where the JSON goes")
    return parser


def _workloads(scale: Scale) -> list[Workload]:
    return [
        workload
        for workload in all_workloads(scale)
        if isinstance(workload, Latency | LatencyWithLibrdkafka)
    ]


@contextmanager
def _contenders(scratch: Path) -> Iterator[Mapping[Contender, Peer]]:
    """The two brokers, up for the whole run, and the stand-in, up while it is driven."""
    program = _compile()
    with brokers_below(scratch, gigabytes=_GIGABYTES) as brokers, ExitStack() as stack:
        node = StandIn(brokers.directory / "standin", program)
        stack.callback(_end, node)
        yield {
            # It takes Headrace's place, as far as a message names a side.
            Contender.STAND_IN: StandInPeer(Side.HEADRACE, node, time.monotonic()),
            Contender.HEADRACE: stack.enter_context(brokers.running(Side.HEADRACE, "floor")),
            Contender.APACHE: stack.enter_context(brokers.running(Side.APACHE, "floor")),
        }


def _compile() -> Path:
    _BUILD.mkdir(parents=True, exist_ok=True)
    program = _BUILD / "standin"
    flags = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror")
    subprocess.run(["cc", *flags, "-o", str(program), str(_SOURCE)], check=True)
    return program


def _end(node: StandIn) -> None:
    """After a failed turn it still runs."""
    if node.child.is_running:
        node.kill()


def _run(
    rounds: Sequence[tuple[int, Sequence[Workload]]],
    peers: Mapping[Contender, Peer],
    turns: Turns,
) -> None:
    progress = Progress(
        _step(number, workload, contender)
        for number, workloads in rounds
        for workload in workloads
        for contender in Contender
    )
    for number, workloads in rounds:
        for workload in workloads:
            for contender in _order(number):
                began = time.monotonic()
                settle()
                figures = _take_turn(workload, peers[contender])
                turns.items.append(Turn(number, contender, workload.name, figures))
                step = _step(number, workload, contender)
                text = f"round {number}, {step}: {shown(figures)}"
                progress.done(step, time.monotonic() - began, text)


def _step(number: int, workload: Workload, contender: Contender) -> str:
    """What takes about as long each time."""
    return f"{'' if number >= 0 else 'warm-up '}{workload.name} {contender}"


def _order(number: int) -> tuple[Contender, ...]:
    """Everyone goes first in every third round."""
    contenders = tuple(Contender)
    first = number % len(contenders)
    return (*contenders[first:], *contenders[:first])


def _take_turn(workload: Workload, peer: Peer) -> Figures:
    workload.prepare(peer)
    figures = workload.measure(peer)
    workload.clean_up(peer)
    return figures


def _table(turns: Turns) -> str:
    names = [f"{contender} ms" for contender in Contender]
    columns = ("latency", *names, "stand-in / apache", "headrace / apache", "floor of the row")
    return markdown_table(columns, [cells for row in _ROWS if (cells := _cells(turns, row))])


def _cells(turns: Turns, row: Row) -> tuple[str, ...]:
    """One row of the table; nothing before everyone had a measured turn."""
    stand_in, headrace, apache = (turns.summary(contender, row.key) for contender in Contender)
    if stand_in is None or headrace is None or apache is None:
        return ()
    return (
        row.title,
        *(_spread(summary) for summary in (stand_in, headrace, apache)),
        format_ratio(stand_in.median / apache.median),
        format_ratio(headrace.median / apache.median),
        "" if row.warm_floor is None else format_ratio(row.warm_floor),
    )


def _spread(summary: Summary) -> str:
    return f"{summary.median:.3f} ({summary.low:.3f} .. {summary.high:.3f})"


if __name__ == "__main__":
    main()
