"""What is compared: the rows of the two tables, with the least that Headrace must reach.

A ratio is always Headrace divided by Apache Kafka. Where more is better, the floor is the least
ratio; where less is better (latency, CPU, memory, start), it is the largest.
"""

from dataclasses import dataclass
from enum import StrEnum


class Table(StrEnum):
    """The two states of a broker that users meet."""

    WARM = "warm"
    FIRST_MINUTE = "first-minute"


class Side(StrEnum):
    """Who was measured."""

    HEADRACE = "headrace"
    APACHE = "apache"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the tables; `key` names its figures in the results."""

    key: str
    title: str
    unit: str
    #: Digits after the point in the tables.
    digits: int = 0
    more_is_better: bool = True
    warm_floor: float | None = None
    first_minute_floor: float | None = None

    def floor(self, table: Table) -> float | None:
        return self.warm_floor if table is Table.WARM else self.first_minute_floor

    def holds(self, ratio: float, table: Table) -> bool:
        """Whether the ratio reaches the floor; a row without one always holds."""
        floor = self.floor(table)
        if floor is None:
            return True
        return ratio >= floor if self.more_is_better else ratio <= floor

    def advantage(self, ratio: float) -> float:
        """How many times better Headrace is, whichever way the row counts."""
        return ratio if self.more_is_better else 1 / ratio


def _rate(key: str, title: str, warm: float, first_minute: float) -> Row:
    return Row(key, title, "records/s", warm_floor=warm, first_minute_floor=first_minute)


def _cost(key: str, title: str, unit: str, digits: int, warm: float, first_minute: float) -> Row:
    return Row(key, title, unit, digits, False, warm, first_minute)


MEMORY = "memory"
START = "start"
CPU_PREFIX = "cpu-"

ROWS = (
    _rate("produce-defaults", "produce 100 B, defaults, acks=1, 4 partitions", 1.2, 1.8),
    _rate("produce-64k", "produce 100 B, batch 64 KB, linger 5, acks=all", 0.95, 1.5),
    _rate("produce-lz4", "the same with lz4", 0.95, 1.4),
    _rate("produce-single", "produce 100 B, one record per request", 1.1, 1.3),
    _rate("consume-librdkafka", "consume with librdkafka, assigned", 0.95, 1.0),
    _rate("consume-java", "consume with the Java consumer, assigned", 0.95, 1.0),
    _cost("latency-p50", "end to end latency, linger 0, Java, p50", "ms", 2, 0.7, 0.7),
    _cost("latency-p99", "end to end latency, linger 0, Java, p99", "ms", 2, 0.5, 0.5),
    _cost("latency-librdkafka-p50", "the same with librdkafka, p50", "ms", 2, 0.7, 0.7),
    _cost("latency-librdkafka-p99", "the same with librdkafka, p99", "ms", 2, 0.5, 0.5),
    _cost("cpu-produce-defaults", "broker CPU, produce with defaults", "s/M records", 2, 0.7, 0.5),
    _cost("cpu-produce-64k", "broker CPU, produce with 64 KB batches", "s/M records", 2, 0.9, 0.5),
    _cost("cpu-consume-librdkafka", "broker CPU, consume, librdkafka", "s/M records", 3, 1.0, 0.5),
    _cost("cpu-consume-java", "broker CPU, consume, Java", "s/M records", 3, 1.0, 0.5),
    _cost(MEMORY, "resident memory after the load", "MB", 0, 1 / 12, 1 / 12),
    Row(START, "start to the first Metadata reply", "s", 2, False, first_minute_floor=1 / 6),
)
