"""Requests, connections and topics on the metrics page: what came in, and what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from headrace.base.errors import ErrorCode
from headrace.broker.metrics import TIME_BOUNDS_MS, BrokerMetrics, TopicMetrics
from headrace.protocol.apis import ApiKey, api_name
from headrace.server.listener import Listener
from headrace.server.prometheus import COUNTER, GAUGE, HISTOGRAM, Family, Sample, single
from headrace.server.request_times import QUANTILES, TimeCounts, quantile_ms

#: Attribute of TopicMetrics, and the name of Kafka's meter without PerSec.
_TOPIC_METERS = (
    ("messages_in", "MessagesIn"),
    ("bytes_in", "BytesIn"),
    ("bytes_out", "BytesOut"),
    ("bytes_rejected", "BytesRejected"),
    ("produces", "TotalProduceRequests"),
    ("fetches", "TotalFetchRequests"),
    ("failed_produces", "FailedProduceRequests"),
    ("failed_fetches", "FailedFetchRequests"),
)
_BEAN = "kafka.network:type=RequestMetrics,name="


def topic_families(metrics: BrokerMetrics) -> Iterator[Family]:
    """Each meter for all topics together, without a label, and for each topic."""
    total = metrics.all_topics()
    topics = list(metrics.topics.items())
    for attribute, name in _TOPIC_METERS:
        yield Family(
            f"kafka_server_brokertopicmetrics_{name.lower()}_total",
            COUNTER,
            f"kafka.server:type=BrokerTopicMetrics,name={name}PerSec",
            _topic_samples(attribute, total, topics),
        )


def refusal_families(metrics: BrokerMetrics) -> Iterator[Family]:
    """What is counted for all topics together: bad records, and requests whose time was up."""
    for bean, name, labels, value in (
        ("BrokerTopicMetrics", "InvalidMessageCrcRecords", {}, metrics.wrong_checksums),
        ("BrokerTopicMetrics", "NoKeyCompactedTopicRecords", {}, metrics.keyless_records),
        ("DelayedFetchMetrics", "Expires", {"fetcherType": "consumer"}, metrics.expired_fetches),
        ("DelayedProduceMetrics", "Expires", {}, metrics.expired_produces),
    ):
        yield Family(
            f"kafka_server_{bean.lower()}_{name.lower()}_total",
            COUNTER,
            f"kafka.server:type={bean},name={name}PerSec",
            [("", labels, value)],
        )


def _topic_samples(
    attribute: str, total: TopicMetrics, topics: list[tuple[str, TopicMetrics]]
) -> Iterator[Sample]:
    yield "", {}, getattr(total, attribute)
    for topic, counted in topics:
        yield "", {"topic": topic}, getattr(counted, attribute)


def request_families(metrics: BrokerMetrics, recent: TimeCounts) -> Iterator[Family]:
    """Every request that was answered; `recent` is what the quantiles are made of."""
    requests: list[Sample] = []
    counts: Counter[str] = Counter()
    for (key, version), api in sorted(metrics.apis.items()):
        for name in request_names(key):
            requests.append(("", {"request": name, "version": str(version)}, api.count))
            counts[name] += api.count
    yield Family(
        "kafka_network_requestmetrics_requests_total", COUNTER, f"{_BEAN}RequestsPerSec", requests
    )
    yield Family(
        "kafka_network_requestmetrics_errors_total",
        COUNTER,
        f"{_BEAN}ErrorsPerSec, without NONE",
        [
            ("", {"request": name, "error": _error_name(code)}, count)
            for (key, code), count in sorted(metrics.errors.items())
            for name in request_names(key)
        ],
    )
    yield Family(
        "kafka_network_requestmetrics_totaltimems",
        GAUGE,
        f"{_BEAN}TotalTimeMs, of the last minutes",
        [
            ("", {"request": name, "quantile": text}, quantile_ms(slots, quantile))
            for key, slots in sorted(recent.items())
            for name in request_names(key)
            for quantile, text in QUANTILES
        ],
    )
    yield Family(
        "kafka_network_requestmetrics_totaltimems_count",
        COUNTER,
        f"{_BEAN}TotalTimeMs",
        [("", {"request": name}, count) for name, count in counts.items()],
    )
    yield Family(
        "headrace_request_time_seconds",
        HISTOGRAM,
        "From the arrival of a request to its answer, waiting included.",
        list(_histogram(metrics)),
    )
    yield single(
        "headrace_malformed_requests_total",
        COUNTER,
        "Requests that could not be read and cost their sender the connection.",
        metrics.malformed,
    )


def _histogram(metrics: BrokerMetrics) -> Iterator[Sample]:
    for key in sorted({key for key, _ in metrics.apis}):
        versions = [api for (other, _), api in metrics.apis.items() if other == key]
        name = api_name(ApiKey(key))
        below = 0
        for slot, bound in enumerate(TIME_BOUNDS_MS):
            below += sum(api.time_counts[slot] for api in versions)
            yield "_bucket", {"request": name, "le": str(bound / 1000)}, below
        count = sum(api.count for api in versions)
        yield "_bucket", {"request": name, "le": "+Inf"}, count
        yield "_sum", {"request": name}, sum(api.time_total_ms for api in versions) / 1000
        yield "_count", {"request": name}, count


def connection_families(listeners: list[Listener]) -> Iterator[Family]:
    """Kafka counts per network thread; here one loop serves them all."""
    for attribute, name, kind in (
        ("connection_count", "connection_count", GAUGE),
        ("opened_total", "connection_creation_total", COUNTER),
        ("closed_total", "connection_close_total", COUNTER),
    ):
        yield Family(
            f"kafka_server_socket_server_metrics_{name}",
            kind,
            f"kafka.server:type=socket-server-metrics, {name.replace('_', '-')}",
            [
                ("", {"listener": one.name, "networkProcessor": "0"}, getattr(one, attribute))
                for one in listeners
            ],
        )


def request_names(key: int) -> tuple[str, ...]:
    """Kafka lists fetches of consumers and followers apart as well; there are no followers yet."""
    if key == ApiKey.FETCH:
        return ("Fetch", "FetchConsumer")
    return (api_name(ApiKey(key)),)


def _error_name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return str(code)
