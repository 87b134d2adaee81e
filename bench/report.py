"""Makes the tables and the chart of docs/ from the results of a run.

python -m bench.report bench/results/raw/run-….json

Several files are taken for the parts of one run, as `bench/run.py --table` leaves them.
"""

import argparse
from pathlib import Path

from bench.chart import write_chart
from bench.markdown import comparison_table, environment_line, write_between_markers
from bench.measurements import Measurements
from bench.results import Results, load
from bench.rows import Table


def publish(results: Results) -> None:
    """Write the tables into docs/BENCHMARKS.md and draw the chart beside it."""
    write_between_markers("bench: environment", environment_line(results.environment))
    comparisons = {table: results.measurements.compare(table) for table in Table}
    for table, rows in comparisons.items():
        if rows:
            write_between_markers(f"bench: {table}", comparison_table(rows))
    write_chart(comparisons)


def printed(measurements: Measurements) -> str:
    """The tables for the terminal."""
    parts = []
    for table in Table:
        rows = measurements.compare(table)
        if rows:
            parts.append(f"{table}\n\n{comparison_table(rows)}")
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, nargs="+", help="JSON files that bench/run.py wrote")
    parts = [load(path) for path in parser.parse_args().results]
    items = [item for part in parts for item in part.measurements.items]
    results = Results(parts[0].environment, parts[0].arguments, Measurements(items))
    print(printed(results.measurements))
    publish(results)


if __name__ == "__main__":
    main()
