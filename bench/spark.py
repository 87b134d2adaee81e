"""Spark through `format("headrace")` against Spark's own Kafka connector, tuned, on one broker.

python bench/spark.py [--quick] [--only read,write,latency,exactly-once,growth,memory,avro]
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Run as a file, the interpreter looks for modules in bench/ instead of in the repository.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.environment import environment
from bench.markdown import environment_line, format_ratio, markdown_table, write_between_markers
from bench.results import RAW, save_json
from bench.spark_avro import measure_avro
from bench.spark_bulk import measure_exactly_once, measure_growth, measure_reads, measure_writes
from bench.spark_latency import measure_latency
from bench.spark_memory import measure_memory
from bench.spark_session import spark_session
from headrace.testing import EmbeddedKafka

WORK = ("read", "write", "avro", "latency", "exactly-once", "growth", "memory")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small; publishes nothing")
    parser.add_argument("--only", default=",".join(WORK), help="parts, separated by commas")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each part")
    parser.add_argument("--publish", action="store_true", help="publish what was measured, if part")
    parser.add_argument("--output", type=Path, default=RAW, help="where the JSON goes")
    arguments = parser.parse_args()
    chosen = arguments.only.split(",")
    unknown = set(chosen) - set(WORK)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(WORK)}")
    with (
        tempfile.TemporaryDirectory() as scratch,
        EmbeddedKafka() as node,
        spark_session(Path(scratch)) as spark,
    ):
        amount = (300_000, 1) if arguments.quick else (5_000_000, arguments.rounds)
        figures = _measure(spark, node, chosen, Path(scratch), *amount)
    table = markdown_table(("work", "Headrace", "peer", "ratio", "at least"), _rows(figures))
    path = save_json({"environment": environment(), "figures": figures}, arguments.output, "spark")
    print(f"\n{table}\nEvery figure: {path}")
    if arguments.publish or (not arguments.quick and set(chosen) == set(WORK)):
        write_between_markers("bench: spark", f"{table}\n{environment_line(environment())}")


def _measure(
    spark: Any,
    node: EmbeddedKafka,
    chosen: Sequence[str],
    scratch: Path,
    count: int,
    rounds: int,
) -> dict[str, Any]:
    is_quick = count < 1_000_000
    figures: dict[str, Any] = {}
    if "read" in chosen:
        for codec in ("none", "lz4"):
            figures[f"read {codec}"] = measure_reads(spark, node, codec, count, rounds)
            _say(figures, f"read {codec}")
    if "write" in chosen:
        figures["write"] = measure_writes(spark, node, count, rounds)
        _say(figures, "write")
    if "avro" in chosen:
        figures["avro"] = measure_avro(spark, node, count // 2, rounds)
        _say(figures, "avro")
    if "latency" in chosen:
        pings = 20 if is_quick else 80
        figures["latency"] = measure_latency(spark, node, pings, min(rounds, 3), scratch)
        _say(figures, "latency")
    if "exactly-once" in chosen:
        figures["exactly-once"] = measure_exactly_once(spark, node, count // 2, rounds, scratch)
        _say(figures, "exactly-once")
    if "growth" in chosen:
        for partitions, rates in measure_growth(spark, node, count // 2, min(rounds, 3)).items():
            name = f"{partitions} partition" if partitions == 1 else f"{partitions} partitions"
            figures[name] = rates
            _say(figures, name)
    if "memory" in chosen:
        sizes = (1,) if is_quick else (1, 10)
        figures["memory"] = [measure_memory(spark, node, size) for size in sizes]
        _say(figures, "memory")
    return figures


def _say(figures: dict[str, Any], name: str) -> None:
    print(f"{name}: {figures[name]}", flush=True)


#: What each part has to reach; below it is told as short.
_FLOORS = {
    "read none": ("batch read, 100 B, plain (records/s)", 1.5),
    "read lz4": ("batch read, 100 B, lz4 (records/s)", 1.5),
    "write": ("batch write, 100 B, 4 partitions (records/s)", 1.5),
    "avro": ("Avro of a registry decoded in the read (records/s)", 1.0),
    "exactly-once": ("exactly-once sink against our plain sink (records/s)", 0.7),
}


def _rows(figures: dict[str, Any]) -> list[tuple[str, ...]]:
    rows = []
    for name, (title, floor) in _FLOORS.items():
        if name in figures:
            ours, peer = (statistics.median(rates) for rates in figures[name].values())
            rows.append(_row(title, ours, peer, ours / peer >= floor, format_ratio(floor)))
    if "latency" in figures:
        ours, peer = (statistics.median(times) for times in figures["latency"].values())
        rows.append(
            _row(
                "topic to topic, p50 (ms)",
                ours,
                peer,
                ours / peer <= 1.1,
                f"≤ {format_ratio(1.1)}",
                digits=1,
            )
        )
    for name, rates in figures.items():
        if name.endswith((" partition", " partitions")):
            ours, peer = (statistics.median(values) for values in rates.values())
            rows.append(_row(f"batch read, {name} (records/s)", ours, peer, True, ""))
    rows += [
        (
            f"memory of a worker reading {row['gigabytes']} GB (MB)",
            f"{row['worker MB']:.0f}",
            "",
            "",
            "",
        )
        for row in figures.get("memory", ())
    ]
    return rows


def _row(
    title: str, ours: float, peer: float, holds: bool, floor: str, digits: int = 0
) -> tuple[str, ...]:
    ratio = format_ratio(ours / peer)
    shown = f"**{ratio}**" if holds else f"{ratio} (short)"
    return title, f"{ours:,.{digits}f}", f"{peer:,.{digits}f}", shown, floor


if __name__ == "__main__":
    main()
