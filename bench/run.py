"""Headrace and Apache Kafka side by side in one run: `make bench`.

Without arguments: everything, for docs/BENCHMARKS.md and its chart. `--quick` shows in a few
minutes that all of it works, and publishes nothing.
"""

import argparse
import sys
import time
from pathlib import Path

# Run as a file, the interpreter looks for modules in bench/ instead of in the repository.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.brokers import NODES, SCRATCH, SELF_CHECK, brokers_below
from bench.environment import environment
from bench.measurements import Measurements
from bench.processes import end_cleanly_on_sigterm
from bench.progress import Progress
from bench.report import printed, publish
from bench.results import RAW, Results, save
from bench.rows import Table
from bench.scale import FIRST_MINUTE, QUICK, UNMEASURED, WARM
from bench.schedule import Plan, Recorder, run_first_minute, run_warm
from bench.workloads import all_workloads

_WORKLOADS = tuple(workload.name for workload in all_workloads(QUICK))
_GIGABYTES = 8.0
_MEASURED_ROUNDS_TO_PUBLISH = 5
_WARMUP_ROUNDS_TO_PUBLISH = 3


def main() -> None:
    arguments = _parser().parse_args()
    end_cleanly_on_sigterm()
    plans = [_plan(table, arguments) for table in arguments.table or Table]
    measurements = Measurements()
    progress = Progress(step for plan in plans for step in plan.steps())
    nodes = SELF_CHECK if arguments.self_check else NODES
    began = time.monotonic()
    try:
        with brokers_below(arguments.scratch, gigabytes=_GIGABYTES, nodes=nodes) as brokers:
            for plan in plans:
                recorder = Recorder(plan, measurements, progress)
                run = run_warm if plan.table is Table.WARM else run_first_minute
                run(brokers, recorder)
    finally:
        options = {name: str(value) for name, value in vars(arguments).items()}
        results = Results(environment(), options, measurements)
        if measurements.items:
            path = save(results, arguments.output)
            print(f"\n{printed(measurements)}\nEvery figure: {path}")
    print(f"The run took {(time.monotonic() - began) / 60:.0f} minutes.")
    if arguments.publish or _is_complete(arguments, plans):
        publish(results)
        print("docs/BENCHMARKS.md and its chart are renewed.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, help="measured rounds per table")
    parser.add_argument("--warmup", type=int, help="unmeasured rounds before the warm table")
    parser.add_argument(
        "--only", action="append", choices=_WORKLOADS, help="this workload only (repeatable)"
    )
    parser.add_argument(
        "--table", action="append", type=Table, choices=list(Table), help="this table only"
    )
    parser.add_argument("--quick", action="store_true", help="small amounts, about 3 minutes")
    parser.add_argument(
        "--self-check", action="store_true", help="Apache Kafka on both sides: ratios near 1"
    )
    parser.add_argument(
        "--publish", action="store_true", help="renew docs/ even from a part of a run"
    )
    parser.add_argument("--scratch", type=Path, default=SCRATCH, help="where brokers keep data")
    parser.add_argument("--output", type=Path, default=RAW, help="where the JSON goes")
    return parser


def _plan(table: Table, arguments: argparse.Namespace) -> Plan:
    full = WARM if table is Table.WARM else FIRST_MINUTE
    scale = QUICK if arguments.quick else full
    wanted = arguments.only or _WORKLOADS
    workloads, warmup_workloads = (
        [workload for workload in all_workloads(amounts) if workload.name in wanted]
        for amounts in (scale, scale if arguments.quick else UNMEASURED)
    )
    warmup_rounds = scale.warmup_rounds if arguments.warmup is None else arguments.warmup
    return Plan(
        table,
        workloads,
        warmup_workloads,
        scale.consume_records,
        warmup_rounds if table is Table.WARM else 0,
        scale.rounds if arguments.rounds is None else arguments.rounds,
    )


def _is_complete(arguments: argparse.Namespace, plans: list[Plan]) -> bool:
    """Whether the run is one that may stand in the documents."""
    if arguments.quick or arguments.only or arguments.table or arguments.self_check:
        return False
    enough_rounds = all(plan.rounds >= _MEASURED_ROUNDS_TO_PUBLISH for plan in plans)
    return enough_rounds and plans[0].warmup_rounds >= _WARMUP_ROUNDS_TO_PUBLISH


if __name__ == "__main__":
    main()
