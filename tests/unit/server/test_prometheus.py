"""The text format, request times, and the pages of a node that did some work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from headrace.base.errors import KafkaError
from headrace.broker.metrics import TIME_BOUNDS_MS, BrokerMetrics
from headrace.client.blocking import KafkaClient
from headrace.metadata.changes import MetadataChanges, TopicChange
from headrace.metadata.image import EMPTY_IMAGE, PartitionImage, TopicImage
from headrace.server.cluster_metrics import IsrChanges
from headrace.server.node import Node
from headrace.server.prometheus import COUNTER, GAUGE, Family, format_value, render, single
from headrace.server.replica_metrics import flat_name
from headrace.server.request_times import RecentTimes, quantile_ms
from headrace.testing.topics import create_topic, delete_topics
from tests.support.talk import consume, produce
from tests.unit.server.nodes import formatted, page, run, with_client
from tests.unit.server.test_maintenance import make_dirty

METRICS = {"headrace.metrics.listener": "127.0.0.1:0"}
_SAMPLE = re.compile(r'([a-z_:][a-z0-9_:]*)(?:\{((?:[a-zA-Z]+="(?:[^"\\\n]|\\.)*",?)*)\})? (\S+)')


def read_page(text: str) -> dict[str, float]:
    """Samples by name and labels; fails on any line that Prometheus would not take."""
    samples: dict[str, float] = {}
    families: dict[str, str] = {}
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in families, f"{name} has two types"
            families[name] = kind
        elif not line.startswith("# HELP "):
            match = _SAMPLE.fullmatch(line)
            assert match, line
            name = re.sub("_(bucket|sum|count)$", "", match[1])
            assert match[1] in families or families.get(name) == "histogram", line
            key = line.rsplit(" ", 1)[0]
            assert key not in samples, f"{key} is there twice"
            samples[key] = float(match[3])
    _read_as_prometheus(text, len(samples))
    return samples


def _read_as_prometheus(text: str, count: int) -> None:
    """The same with a program that is not ours."""
    families = list(text_string_to_metric_families(text))
    assert len(families) == len({family.name for family in families})
    assert {family.type for family in families} <= {"counter", "gauge", "histogram"}
    read = [sample for family in families for sample in family.samples]
    series = {(sample.name, tuple(sorted(sample.labels.items()))) for sample in read}
    assert len(read) == len(series) == count


# The format


def test_a_family_has_its_help_and_type_before_its_samples() -> None:
    family = Family("requests_total", COUNTER, "How many.", [("", {"api": "Fetch"}, 3)])
    assert "".join(render([family])) == (
        "# HELP requests_total How many.\n"
        "# TYPE requests_total counter\n"
        'requests_total{api="Fetch"} 3\n'
    )


def test_a_family_without_samples_is_left_out() -> None:
    assert "".join(render([Family("x", GAUGE, "", []), single("y", GAUGE, "why", 1)])) == (
        "# HELP y why\n# TYPE y gauge\ny 1\n"
    )


def test_labels_are_escaped() -> None:
    family = Family("x", GAUGE, "a\nb\\", [("", {"path": 'a"b\\c\nd'}, 1)])
    text = "".join(render([family]))
    assert "# HELP x a\\nb\\\\\n" in text
    assert 'x{path="a\\"b\\\\c\\nd"} 1\n' in text
    assert len(read_page(text)) == 1


@pytest.mark.parametrize(
    ("value", "text"),
    [(1, "1"), (10**18, "1000000000000000000"), (2.0, "2"), (0.5, "0.5"), (float("inf"), "+Inf")],
)
def test_numbers_are_written_as_short_as_they_are(value: float, text: str) -> None:
    assert format_value(value) == text


def test_a_long_page_comes_in_pieces() -> None:
    many = Family("x", GAUGE, "", (("", {"n": str(n)}, n) for n in range(5000)))
    pieces = list(render([many]))
    assert len(pieces) == 6
    assert len(read_page("".join(pieces))) == 5000


# Names


@pytest.mark.parametrize(
    ("bean", "name"),
    [
        ("kafka.log:type=Log,name=LogEndOffset", "kafka_log_log_logendoffset"),
        (
            "kafka.log:type=LogCleanerManager,name=max-dirty-percent",
            "kafka_log_logcleanermanager_max_dirty_percent",
        ),
    ],
)
def test_a_bean_is_named_as_the_jmx_exporter_does(bean: str, name: str) -> None:
    assert flat_name(bean) == name


# Request times


def test_a_quantile_lies_in_the_slot_where_its_share_is_reached() -> None:
    slots = [0] * (len(TIME_BOUNDS_MS) + 1)
    slots[3] = 98  # 0.5 to 1 ms
    slots[6] = 2  # 5 to 10 ms
    assert 0.5 <= quantile_ms(slots, 0.5) <= 1
    assert 5 <= quantile_ms(slots, 0.99) <= 10


def test_a_quantile_beyond_the_last_bound_is_that_bound() -> None:
    slots = [0] * len(TIME_BOUNDS_MS) + [10]
    assert quantile_ms(slots, 0.99) == TIME_BOUNDS_MS[-1]


def test_nothing_asked_took_no_time() -> None:
    assert quantile_ms([0] * (len(TIME_BOUNDS_MS) + 1), 0.99) == 0


def test_quantiles_forget_what_is_long_past() -> None:
    metrics = BrokerMetrics()
    recent = RecentTimes(metrics)
    for _ in range(1000):
        metrics.api(1, 0).record(400.0)
    assert sum(recent.counts(0.0)[1]) == 1000
    metrics.api(1, 0).record(0.2)
    metrics.api(2, 0).record(0.2)
    # Too soon to leave anything out.
    assert sum(recent.counts(1_000.0)[1]) == 1001
    for minute in range(1, 10):
        counts = recent.counts(minute * 60_000.0)
    assert sum(counts[1]) == 0
    metrics.api(1, 1).record(0.2)
    assert quantile_ms(recent.counts(600_000.0)[1], 0.99) < 1


# In-sync replicas


def test_in_sync_replicas_that_come_and_go_are_counted_where_the_leader_is() -> None:
    def topic(*partitions: tuple[int, tuple[int, ...]]) -> TopicImage:
        images = (
            PartitionImage((1, 2, 3), isr, leader, 0, 0, (b"",) * 3) for leader, isr in partitions
        )
        return TopicImage("t", b"t" * 16, tuple(images))

    changes = IsrChanges(1)
    before = topic((1, (1, 2, 3)), (1, (1,)), (2, (2, 3)))
    after = topic((1, (1,)), (1, (1, 2)), (2, (2,)), (1, (1,)))
    changes.metadata_changed(
        MetadataChanges(topics={b"t" * 16: TopicChange(before, after, (0, 1, 2, 3))}), EMPTY_IMAGE
    )
    assert (changes.shrinks, changes.expands) == (1, 1)
    assert changes.unclean_elections == 0


def test_a_leader_that_was_not_in_sync_is_an_unclean_election() -> None:
    def topic(*leaders: int) -> TopicImage:
        images = (PartitionImage((1, 2, 3), (2,), leader, 0, 0, (b"",) * 3) for leader in leaders)
        return TopicImage("t", b"t" * 16, tuple(images))

    changes = IsrChanges(1)
    change = TopicChange(topic(2, -1, -1, 2), topic(3, 2, 1, -1), (0, 1, 2, 3))
    changes.metadata_changed(MetadataChanges(topics={b"t" * 16: change}), EMPTY_IMAGE)
    assert changes.unclean_elections == 2


# The pages of a node


def test_the_page_shows_what_the_node_did(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        def work(client: KafkaClient) -> None:
            create_topic(client, "orders", 1, {})
            create_topic(client, "gone", 2, {})
            produce(client, "orders", [b"x" * 100] * 50)
            produce(client, "gone", [b"y"])
            assert len(consume(client, "orders")) == 50
            delete_topics(client, ["gone"])
            with pytest.raises(KafkaError):
                create_topic(client, "orders", 1, {})

        await with_client(node, work)
        status, text = await page(node, "/metrics")
        assert status == 200
        seen = read_page(text)
        topic = "kafka_server_brokertopicmetrics_"
        assert seen[f'{topic}messagesin_total{{topic="orders"}}'] == 50
        assert seen[f"{topic}messagesin_total"] == 51
        assert f'{topic}messagesin_total{{topic="gone"}}' not in seen
        log_size = (tmp_path / "data" / "orders-0" / ("0" * 20 + ".log")).stat().st_size
        assert seen[f'{topic}bytesin_total{{topic="orders"}}'] == log_size
        assert seen[f'{topic}bytesout_total{{topic="orders"}}'] == log_size
        assert seen['kafka_log_log_size{topic="orders",partition="0"}'] == log_size
        assert seen['kafka_log_log_logendoffset{topic="orders",partition="0"}'] == 50
        assert seen['kafka_log_log_numlogsegments{topic="orders",partition="0"}'] == 1
        assert seen["kafka_server_replicamanager_partitioncount"] == 1
        assert seen["kafka_server_replicamanager_leadercount"] == 1
        assert seen["kafka_server_replicamanager_underreplicatedpartitions"] == 0
        assert seen["kafka_controller_kafkacontroller_activecontrollercount"] == 1
        assert seen["kafka_controller_kafkacontroller_globaltopiccount"] == 1
        assert seen["kafka_controller_kafkacontroller_offlinepartitionscount"] == 0
        assert seen['kafka_server_raft_metrics_current_state_info{state="leader"}'] == 1
        errors = "kafka_network_requestmetrics_errors_total"
        assert seen[f'{errors}{{request="CreateTopics",error="TOPIC_ALREADY_EXISTS"}}'] == 1
        times = "kafka_network_requestmetrics_totaltimems"
        assert seen[f'{times}_count{{request="CreateTopics"}}'] == 3
        assert seen[f'{times}{{request="Produce",quantile="0.99"}}'] > 0
        assert seen['headrace_request_time_seconds_bucket{request="CreateTopics",le="+Inf"}'] == 3
        assert seen["process_cpu_seconds_total"] > 0

    run(formatted(tmp_path / "data", METRICS), story)


def test_the_page_can_be_read_whatever_the_directory_is_called(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        seen = read_page((await page(node, "/metrics"))[1])
        offline = 'kafka_log_logmanager_logdirectoryoffline{logDirectory="'
        (name,) = (key for key in seen if key.startswith(offline))
        assert name.endswith('/a \\"b\\" \\\\n"}')

    run(formatted(tmp_path / 'a "b" \\n', METRICS), story)


def test_the_page_shows_what_compaction_did(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        cleaner = "kafka_log_logcleaner_cleaner_recopy_percent"
        assert read_page((await page(node, "/metrics"))[1])[cleaner] == 0
        await with_client(node, make_dirty)
        await node.maintenance.compact()
        assert 0 < read_page((await page(node, "/metrics"))[1])[cleaner] < 100

    settings = {**METRICS, "log.cleaner.backoff.ms": "86400000"}
    run(formatted(tmp_path / "data", settings), story)


def test_a_topic_that_never_was_gets_no_line_of_its_own(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        node.metrics.topic_or_elsewhere("made-up").failed_produces += 1
        seen = read_page((await page(node, "/metrics"))[1])
        assert seen["kafka_server_brokertopicmetrics_failedproducerequests_total"] == 1
        assert not any("made-up" in key for key in seen)

    run(formatted(tmp_path / "data", METRICS), story)


def test_a_node_is_healthy_and_ready(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        assert await page(node, "/healthz") == (200, "ok\n")
        assert await page(node, "/readyz") == (200, "ready\n")

    run(formatted(tmp_path / "data", METRICS), story)


def test_a_node_without_a_data_directory_is_not_ready_and_says_why(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        for directory in node.logs.directories:
            directory.fail("the disk is gone")
        status, text = await page(node, "/readyz")
        assert status == 503
        assert "the disk is gone" in text
        assert (await page(node, "/healthz"))[0] == 200

    run(formatted(tmp_path / "data", METRICS), story)


def test_a_node_that_cannot_go_on_is_not_healthy(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        assert node.failed is not None
        node.failed.set_result("the metadata log cannot be written")
        for path in ("/healthz", "/readyz"):
            status, text = await page(node, path)
            assert status == 503
            assert "the metadata log cannot be written" in text

    run(formatted(tmp_path / "data", METRICS), story)


def test_without_the_setting_there_is_no_port(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        assert node.status is None

    run(formatted(tmp_path / "data"), story)
