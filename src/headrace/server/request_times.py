"""How long requests took of late, from counters that only ever grow.

Kafka's own percentiles forget the past; so do these: they look at the requests since a snapshot
that a page took a few minutes ago.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from headrace.broker.metrics import TIME_BOUNDS_MS, BrokerMetrics

#: The quantiles that Kafka's histograms have, with the digits of the JMX attribute.
QUANTILES = tuple((float(text), text) for text in ("0.50", "0.75", "0.95", "0.98", "0.99", "0.999"))

_SNAPSHOT_INTERVAL_MS = 30_000
_WINDOW_MS = 300_000

#: Counts per time slot, by API key.
TimeCounts = dict[int, list[int]]


class RecentTimes:
    """Remembers the counters as they were, for as long as the window."""

    def __init__(self, metrics: BrokerMetrics) -> None:
        self._metrics = metrics
        self._snapshots: deque[tuple[float, TimeCounts]] = deque()

    def counts(self, now_ms: float) -> TimeCounts:
        """How many requests fell into each time slot within the window."""
        current = time_counts(self._metrics)
        snapshots = self._snapshots
        # The oldest one kept is the first that is older than the window, or nearly.
        while len(snapshots) > 1 and now_ms - snapshots[1][0] >= _WINDOW_MS:
            snapshots.popleft()
        if not snapshots or now_ms - snapshots[-1][0] >= _SNAPSHOT_INTERVAL_MS:
            snapshots.append((now_ms, current))
        taken_ms, past = snapshots[0]
        if now_ms - taken_ms < _SNAPSHOT_INTERVAL_MS:
            return current
        return {key: _difference(slots, past.get(key)) for key, slots in current.items()}


def _difference(slots: list[int], past: list[int] | None) -> list[int]:
    if past is None:
        return slots
    return [now - before for now, before in zip(slots, past, strict=True)]


def time_counts(metrics: BrokerMetrics) -> TimeCounts:
    """All versions of an API together."""
    counts: TimeCounts = {}
    for (key, _), api in metrics.apis.items():
        slots = counts.setdefault(key, [0] * len(api.time_counts))
        for slot, count in enumerate(api.time_counts):
            slots[slot] += count
    return counts


def quantile_ms(slots: Sequence[int], quantile: float) -> float:
    """The time that this share of the requests stayed below, interpolated within its slot."""
    wanted = sum(slots) * quantile
    if not wanted:
        return 0.0
    seen = 0
    lower = 0.0
    for slot, count in enumerate(slots):
        upper = TIME_BOUNDS_MS[slot] if slot < len(TIME_BOUNDS_MS) else lower
        if count and seen + count >= wanted:
            return lower + (upper - lower) * (wanted - seen) / count
        seen += count
        lower = upper
    return lower
