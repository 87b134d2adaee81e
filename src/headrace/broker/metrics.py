"""Counters that the broker keeps while it works; the metrics page reads them.

Plain integers: counting must cost next to nothing, and rates are the reader's business.
"""

from __future__ import annotations

#: Upper bounds in milliseconds of the request time histogram.
TIME_BOUNDS_MS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 5000)


class TopicMetrics:
    """What went in and out of one topic."""

    __slots__ = (
        "bytes_in",
        "bytes_out",
        "failed_fetches",
        "failed_produces",
        "fetches",
        "messages_in",
        "produces",
    )

    def __init__(self) -> None:
        self.bytes_in = 0
        self.bytes_out = 0
        self.messages_in = 0
        self.produces = 0
        self.fetches = 0
        self.failed_produces = 0
        self.failed_fetches = 0


class ApiMetrics:
    """How often one API was called and how long it took."""

    __slots__ = ("count", "errors", "time_counts", "time_total_ms")

    def __init__(self) -> None:
        self.count = 0
        self.errors: dict[int, int] = {}
        self.time_total_ms = 0.0
        self.time_counts = [0] * (len(TIME_BOUNDS_MS) + 1)

    def record(self, elapsed_ms: float) -> None:
        self.count += 1
        self.time_total_ms += elapsed_ms
        slot = 0
        for bound in TIME_BOUNDS_MS:
            if elapsed_ms <= bound:
                break
            slot += 1
        self.time_counts[slot] += 1


class BrokerMetrics:
    """Everything that is counted on one node."""

    __slots__ = ("apis", "connections_closed", "connections_opened", "malformed", "topics")

    def __init__(self) -> None:
        self.topics: dict[str, TopicMetrics] = {}
        self.apis: dict[int, ApiMetrics] = {}
        self.connections_opened = 0
        self.connections_closed = 0
        self.malformed = 0

    def topic(self, name: str) -> TopicMetrics:
        metrics = self.topics.get(name)
        if metrics is None:
            metrics = self.topics[name] = TopicMetrics()
        return metrics

    def api(self, key: int) -> ApiMetrics:
        metrics = self.apis.get(key)
        if metrics is None:
            metrics = self.apis[key] = ApiMetrics()
        return metrics
