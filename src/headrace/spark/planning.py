"""From offsets to work: how much a batch takes of each partition, and which tasks read it.

Pure: the numbers come from the cluster, the rules are those of Spark's own connector.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor

from headrace.client.leaders import TopicPartition
from headrace.spark.offsets import Offsets


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets [start, end) of one partition."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start


def ranges_between(start: Offsets, end: Offsets) -> list[OffsetRange]:
    """What lies between two sets of offsets; partitions without anything are left out."""
    return [
        OffsetRange(*key, start[key], end[key])
        for key in sorted(end)
        if key in start and end[key] > start[key]
    ]


def limit_offsets(start: Offsets, latest: Offsets, limit: int) -> dict[TopicPartition, int]:
    """The end of a batch of about `limit` records, shared out by what waits in each partition."""
    waiting = {key: max(latest[key] - start.get(key, latest[key]), 0) for key in latest}
    total = sum(waiting.values())
    if total <= limit:
        return dict(latest)
    end = {}
    for key, size in waiting.items():
        share = limit * size / total
        # Each partition moves on, however small its share.
        taken = ceil(share) if share < 1 else floor(share)
        end[key] = min(start.get(key, latest[key]) + taken, latest[key])
    return end


def split_ranges(
    ranges: Iterable[OffsetRange],
    *,
    min_partitions: int | None = None,
    max_records: int | None = None,
) -> list[OffsetRange]:
    """Cut ranges so that no task reads more than `max_records` and there are enough tasks."""
    pieces = list(ranges)
    if max_records is not None:
        pieces = [part for piece in pieces for part in _cut(piece, ceil(piece.size / max_records))]
    if min_partitions is None or not pieces or len(pieces) >= min_partitions:
        return pieces
    total = sum(piece.size for piece in pieces)
    largest = max(total / min_partitions, 1)
    return [part for piece in pieces for part in _cut(piece, max(round(piece.size / largest), 1))]


def _cut(piece: OffsetRange, parts: int) -> Iterable[OffsetRange]:
    """Cut one range into parts of nearly equal size."""
    parts = min(max(parts, 1), piece.size)
    for index in range(parts):
        yield OffsetRange(
            piece.topic,
            piece.partition,
            piece.start + piece.size * index // parts,
            piece.start + piece.size * (index + 1) // parts,
        )
