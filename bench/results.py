"""The results of a run as JSON: every figure of every round, so that tables can be made again."""

import dataclasses
import datetime
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.measurements import Measurement, Measurements
from bench.rows import Side, Table
from tests.support.tools import REPOSITORY

#: Not under version control; docs/BENCHMARKS.md shows the runs that count.
RAW = REPOSITORY / "bench" / "results" / "raw"


@dataclass(frozen=True, slots=True)
class Results:
    """One run: where and how it was made, and what it gave."""

    environment: dict[str, str]
    arguments: dict[str, Any]
    measurements: Measurements


def save(results: Results, directory: Path, name: str = "run") -> Path:
    """Write a run's results into a new file."""
    content = {
        "environment": results.environment,
        "arguments": results.arguments,
        "summary": _summary(results.measurements),
        "measurements": [dataclasses.asdict(item) for item in results.measurements.items],
    }
    return save_json(content, directory, name)


def save_json(content: dict[str, Any], directory: Path, name: str) -> Path:
    """Write a JSON file whose name says when it was written."""
    directory.mkdir(parents=True, exist_ok=True)
    now = datetime.datetime.now(datetime.UTC)
    path = directory / f"{name}-{now:%Y%m%d-%H%M%S}.json"
    path.write_text(json.dumps(content, indent=1) + "\n")
    return path


def load(path: Path) -> Results:
    """Read a run's results again."""
    content = json.loads(path.read_text())
    items = [
        Measurement(**{**item, "table": Table(item["table"]), "side": Side(item["side"])})
        for item in content["measurements"]
    ]
    return Results(content["environment"], content["arguments"], Measurements(items))


def _summary(measurements: Measurements) -> dict[str, Any]:
    return {
        table: {
            comparison.row.key: {
                "headrace": dataclasses.asdict(comparison.headrace),
                "apache": dataclasses.asdict(comparison.apache),
                "ratio": comparison.ratio,
                "holds": comparison.holds,
            }
            for comparison in measurements.compare(table)
        }
        for table in Table
    }
