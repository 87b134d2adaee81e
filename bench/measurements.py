"""What a run measured: every single figure, and the medians, spreads and ratios made of them."""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.rows import ROWS, Row, Side, Table


@dataclass(frozen=True, slots=True)
class Measurement:
    """The figures of one workload on one side in one round."""

    table: Table
    round_number: int
    measured: bool
    side: Side
    workload: str
    figures: dict[str, float]
    #: How old the broker was at the end of the work.
    broker_age_seconds: float
    took_seconds: float


@dataclass(frozen=True, slots=True)
class Summary:
    """One side of one row."""

    median: float
    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """One row of one table: both sides, and Headrace divided by Apache Kafka."""

    row: Row
    table: Table
    headrace: Summary
    apache: Summary

    @property
    def ratio(self) -> float:
        return self.headrace.median / self.apache.median

    @property
    def holds(self) -> bool:
        return self.row.holds(self.ratio, self.table)


@dataclass(slots=True)
class Measurements:
    """All measurements of a run, the unmeasured warm-up rounds among them."""

    items: list[Measurement] = field(default_factory=list)

    def add(self, measurement: Measurement) -> None:
        self.items.append(measurement)

    def values(self, table: Table, side: Side, key: str) -> list[float]:
        """The measured values of a figure in the order of the rounds."""
        return [
            item.figures[key]
            for item in self.items
            if item.measured and item.table is table and item.side is side and key in item.figures
        ]

    def compare(self, table: Table) -> list[Comparison]:
        """The rows of a table for which both sides have figures."""
        comparisons = []
        for row in ROWS:
            ours = self.values(table, Side.HEADRACE, row.key)
            theirs = self.values(table, Side.APACHE, row.key)
            if ours and theirs:
                comparisons.append(Comparison(row, table, summarise(ours), summarise(theirs)))
        return comparisons


def summarise(values: Iterable[float]) -> Summary:
    """Median and spread of at least one value."""
    ordered = sorted(values)
    return Summary(statistics.median(ordered), ordered[0], ordered[-1], len(ordered))
