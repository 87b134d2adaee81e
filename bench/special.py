"""Scenarios beside the two tables: compaction, many partitions, recovery, groups and more.

python bench/special.py compaction --quick
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

# Run as a file, the interpreter looks for modules in bench/ instead of in the repository.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.brokers import NODES, SCRATCH, SELF_CHECK, Brokers, brokers_below
from bench.environment import environment
from bench.markdown import environment_line, markdown_table, write_between_markers
from bench.processes import end_cleanly_on_sigterm
from bench.results import RAW, save_json
from bench.scenarios import commands, compaction, groups, growth, partitions, recovery
from bench.scenarios.scenario import Outcome

#: What runs, and the free space in gigabytes that it needs.
_SCENARIOS: dict[str, tuple[Callable[[Brokers, bool], Outcome], float]] = {
    "compaction": (compaction.run, compaction.GIGABYTES),
    "partitions": (partitions.run, partitions.GIGABYTES),
    "growth": (growth.run, growth.GIGABYTES),
    "recovery": (recovery.run, recovery.GIGABYTES),
    "commands": (commands.run, commands.GIGABYTES),
    "group-settle": (groups.run_settle, groups.GIGABYTES),
    "group-work": (groups.run_work, groups.GIGABYTES),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenario", choices=[*_SCENARIOS, "all"])
    parser.add_argument("--quick", action="store_true", help="small amounts; publishes nothing")
    parser.add_argument("--self-check", action="store_true", help="Apache Kafka on both sides")
    parser.add_argument("--scratch", type=Path, default=SCRATCH, help="where brokers keep data")
    parser.add_argument("--output", type=Path, default=RAW, help="where the JSON goes")
    arguments = parser.parse_args()
    end_cleanly_on_sigterm()
    names = list(_SCENARIOS) if arguments.scenario == "all" else [arguments.scenario]
    for name in names:
        _run(name, arguments)


def _run(name: str, arguments: argparse.Namespace) -> None:
    scenario, gigabytes = _SCENARIOS[name]
    nodes = SELF_CHECK if arguments.self_check else NODES
    with brokers_below(arguments.scratch, gigabytes=gigabytes, nodes=nodes) as brokers:
        outcome = scenario(brokers, arguments.quick)
    where = environment()
    table = markdown_table(outcome.columns, outcome.rows)
    path = save_json({"environment": where, "figures": outcome.raw}, arguments.output, name)
    print(f"\n{table}\nEvery figure: {path}")
    if not arguments.quick and not arguments.self_check:
        write_between_markers(f"bench: {name}", f"{table}\n{environment_line(where)}")


if __name__ == "__main__":
    main()
