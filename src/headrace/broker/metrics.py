"""Counters that the broker keeps while it works; the metrics page reads them.

Plain integers: counting must cost next to nothing, and rates are the reader's business.
"""

from __future__ import annotations

from bisect import bisect_left

#: Upper bounds in milliseconds of the request time histogram.
TIME_BOUNDS_MS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 5000)


class TopicMetrics:
    """What went in and out of one topic."""

    __slots__ = (
        "bytes_in",
        "bytes_out",
        "bytes_rejected",
        "failed_fetches",
        "failed_produces",
        "fetches",
        "messages_in",
        "produces",
    )

    def __init__(self) -> None:
        self.bytes_in = 0
        self.bytes_out = 0
        self.bytes_rejected = 0
        self.messages_in = 0
        self.produces = 0
        self.fetches = 0
        self.failed_produces = 0
        self.failed_fetches = 0

    def add(self, other: TopicMetrics) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class ApiMetrics:
    """How often one version of an API was called and how long it took."""

    __slots__ = ("count", "time_counts", "time_total_ms")

    def __init__(self) -> None:
        self.count = 0
        self.time_total_ms = 0.0
        self.time_counts = [0] * (len(TIME_BOUNDS_MS) + 1)

    def record(self, elapsed_ms: float) -> None:
        self.count += 1
        self.time_total_ms += elapsed_ms
        self.time_counts[bisect_left(TIME_BOUNDS_MS, elapsed_ms)] += 1


class BrokerMetrics:
    """Everything that is counted on one node."""

    __slots__ = (
        "_elsewhere",
        "apis",
        "connections_closed",
        "connections_opened",
        "errors",
        "expired_fetches",
        "expired_produces",
        "keyless_records",
        "malformed",
        "topics",
        "wrong_checksums",
    )

    def __init__(self) -> None:
        self.topics: dict[str, TopicMetrics] = {}
        #: Of topics that are gone, or that never were: a client may name what it likes.
        self._elsewhere = TopicMetrics()
        #: By API key and version.
        self.apis: dict[tuple[int, int], ApiMetrics] = {}
        #: By API key and error code: errors told to clients.
        self.errors: dict[tuple[int, int], int] = {}
        self.connections_opened = 0
        self.connections_closed = 0
        self.malformed = 0
        #: Batches whose checksum was wrong, and records without a key for compacted topics.
        self.wrong_checksums = 0
        self.keyless_records = 0
        #: Requests that waited until their time was up, produces by partition.
        self.expired_fetches = 0
        self.expired_produces = 0

    def topic(self, name: str) -> TopicMetrics:
        """The counters of a topic that exists."""
        metrics = self.topics.get(name)
        if metrics is None:
            metrics = self.topics[name] = TopicMetrics()
        return metrics

    def topic_or_elsewhere(self, name: str) -> TopicMetrics:
        """The counters of a topic that may not exist."""
        return self.topics.get(name, self._elsewhere)

    def forget_topic(self, name: str) -> None:
        """The topic is deleted; what went through it still counts for the node."""
        metrics = self.topics.pop(name, None)
        if metrics is not None:
            self._elsewhere.add(metrics)

    def all_topics(self) -> TopicMetrics:
        total = TopicMetrics()
        total.add(self._elsewhere)
        for metrics in self.topics.values():
            total.add(metrics)
        return total

    def api(self, key: int, version: int) -> ApiMetrics:
        metrics = self.apis.get((key, version))
        if metrics is None:
            metrics = self.apis[key, version] = ApiMetrics()
        return metrics

    def count_error(self, key: int, code: int) -> None:
        self.errors[key, code] = self.errors.get((key, code), 0) + 1
