"""What a node tells of its data, and how little of it where there is much."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from headrace.base.clock import ManualClock
from headrace.base.settings.broker import BROKER_SETTINGS
from headrace.base.settings.effective import BrokerLayers
from headrace.client.blocking import KafkaClient
from headrace.log.config import LogConfig
from headrace.log.directories import DataDirectory
from headrace.log.directory_loading import LoadedDirectory
from headrace.log.recovery_tasks import RecoveryOutcome, RecoveryTask
from headrace.metadata.changes import MetadataChanges, TopicChange
from headrace.metadata.image import EMPTY_IMAGE, PartitionImage, TopicImage
from headrace.server.node import Node
from headrace.server.node_events import (
    tell_loaded,
    tell_metadata,
    tell_topics,
    told_recovery,
)
from headrace.server.settings_told import changed_settings
from headrace.testing.topics import create_topic, delete_topics
from tests.support.talk import produce
from tests.unit.server.nodes import formatted, run, with_client
from tests.unit.server.test_maintenance import make_dirty

#: So that a test alone decides when something happens.
_NEVER = {"log.retention.check.interval.ms": "86400000", "log.cleaner.backoff.ms": "86400000"}


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """The lines at INFO and above so far."""
    caplog.set_level(logging.INFO, logger="headrace")
    return lambda: [record.getMessage() for record in caplog.records]


def on_node(tmp_path: Path, story: Callable[[Node], Awaitable[None]]) -> None:
    run(formatted(tmp_path / "data", _NEVER), story)


# Settings


def test_settings_that_are_not_their_defaults_are_told_and_secrets_are_not() -> None:
    static = {
        "num.partitions": "1",
        "log.retention.hours": " 24 ",
        "ssl.keystore.password": "secret",
        "listener.name.internal.ssl.key.password": "secret",
        "some.plugin.token": "secret",
    }
    layers = BrokerLayers(static, {"log.cleaner.threads": "3"}, {"ssl.key.password": "secret"})
    assert list(changed_settings(layers)) == [
        "listener.name.internal.ssl.key.password=[hidden]",
        "log.cleaner.threads=3",
        "log.retention.hours=24",
        "ssl.key.password=[hidden]",
        "ssl.keystore.password=[hidden]",
    ]


def test_every_setting_that_holds_is_told_at_debug_and_secrets_are_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    layers = BrokerLayers({"log.retention.hours": " 24 ", "ssl.keystore.password": "secret"})
    caplog.set_level(logging.INFO)
    tell_metadata("c", EMPTY_IMAGE, layers, [])
    quiet = len(caplog.records)
    caplog.clear()
    caplog.set_level(logging.DEBUG)
    tell_metadata("c", EMPTY_IMAGE, layers, [])
    told = [record.getMessage() for record in caplog.records]
    settings = {line.removeprefix("setting ") for line in told if line.startswith("setting ")}
    assert {name.partition(" = ")[0] for name in settings} == BROKER_SETTINGS.keys()
    assert len(told) == quiet + len(BROKER_SETTINGS)
    assert {
        "log.retention.hours = 24",
        "num.partitions = 1",
        "ssl.keystore.location = null",
        "ssl.keystore.password = [hidden]",
    } <= settings


# Topics


def test_topics_that_come_and_go_are_told(tmp_path: Path, told: Callable[[], list[str]]) -> None:
    async def story(node: Node) -> None:
        def work(client: KafkaClient) -> None:
            create_topic(client, "orders", 3, {})
            produce(client, "orders", [b"x"])
            delete_topics(client, ["orders"])

        await with_client(node, work)

    on_node(tmp_path, story)
    lines = [line for line in told() if "topic orders" in line]
    assert lines == [
        "created topic orders with 3 partitions",
        "deleted topic orders with 3 partitions",
    ]


def test_topics_that_grow_are_told_and_new_leaders_are_not(told: Callable[[], list[str]]) -> None:
    def topic(*leaders: int) -> TopicImage:
        images = (PartitionImage((1,), (1,), leader, 0, 0, (b"",)) for leader in leaders)
        return TopicImage("t", b"t" * 16, tuple(images))

    for before, after in ((topic(1), topic(1, 1)), (topic(1), topic(-1))):
        change = TopicChange(before, after, (0,))
        tell_topics(MetadataChanges(topics={b"t" * 16: change}), EMPTY_IMAGE)
    assert told() == ["topic t has 2 partitions now, not 1"]


def test_a_thousand_topics_at_once_make_a_few_lines(told: Callable[[], list[str]]) -> None:
    topics = {
        b"%016d" % n: TopicChange(None, TopicImage(f"t{n}", b"%016d" % n, ()), ())
        for n in range(1000)
    }
    tell_topics(MetadataChanges(topics=topics), EMPTY_IMAGE)
    lines = told()
    assert lines[0] == "created topic t0 with 0 partitions"
    assert lines[20:] == ["and 980 more topics"]


# Logs


def test_segments_that_retention_deletes_are_told_with_the_reason(
    tmp_path: Path, told: Callable[[], list[str]]
) -> None:
    async def story(node: Node) -> None:
        def work(client: KafkaClient) -> None:
            create_topic(client, "old", 1, {"retention.ms": "1000"})
            produce(client, "old", [b"x"] * 10, timestamp=1)

        await with_client(node, work)
        size = node.partitions.require("old", 0).log.size_bytes
        await node.maintenance.retain()
        assert told()[-1] == (
            f"deleted 1 segment of old-0, {size} bytes: older than retention.ms=1000;"
            " the log starts at offset 10 now"
        )

    on_node(tmp_path, story)


def test_a_round_of_compaction_is_told_with_what_it_saved(
    tmp_path: Path, told: Callable[[], list[str]]
) -> None:
    async def story(node: Node) -> None:
        await with_client(node, make_dirty)
        log = node.partitions.require("compacted", 0).log
        before = log.size_bytes - log.active.size
        await node.maintenance.compact()
        after = log.size_bytes - log.active.size
        (line,) = (line for line in told() if line.startswith("compacted"))
        assert line.startswith("compacted compacted-0 up to offset 18 in ")
        assert line.endswith(f": 18 records in {before} bytes became 2 in {after} bytes")

    on_node(tmp_path, story)


# Directories


def test_a_directory_that_goes_offline_is_an_error_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(node: Node) -> None:
        await with_client(node, lambda client: create_topic(client, "orders", 2, {}))
        directory = node.directories[0]
        node.logs.fail_directory(directory, "Input/output error")
        (record,) = (one for one in caplog.records if one.levelno == logging.ERROR)
        assert record.getMessage() == (
            f"{directory.path} is offline, and 2 partitions with it: Input/output error"
        )

    on_node(tmp_path, story)
    # Nothing was vouched for when the node stopped.
    assert "is not closed cleanly: the next start will recover its logs" in caplog.text


def test_what_a_start_cannot_use_is_an_error_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lost, worn = DataDirectory(str(tmp_path / "lost")), DataDirectory(str(tmp_path / "worn"))
    lost.fail("Input/output error")
    found = LoadedDirectory(broken={("orders", 1): "No log."}, warnings=["Odd."], was_clean=True)
    tell_loaded([lost, worn], {worn.path: found})
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("ERROR", f"{lost.path} is offline: Input/output error"),
        ("WARNING", "Odd."),
        ("ERROR", "orders-1 cannot be used: No log."),
    ]


def test_logs_that_belong_to_no_topic_are_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = formatted(tmp_path / "data")

    async def make(node: Node) -> None:
        await with_client(node, lambda client: create_topic(client, "orders", 2, {}))

    run(config, make)
    for index in range(2):
        (tmp_path / "data" / f"orders-{index}").rename(tmp_path / "data" / f"gone-{index}")
        (tmp_path / "data" / f"gone-{index}" / "partition.metadata").write_text(
            "version: 0\ntopic_id: MMMMMMMMMMMMMMMMMMMMMA\n"
        )

    async def look(node: Node) -> None:
        (record,) = caplog.records
        assert record.getMessage().startswith(
            f"2 logs belong to no topic and are put aside, the first as {tmp_path}/data/gone-"
        )

    run(config, look)


def test_of_many_recovered_logs_only_those_that_lost_something_are_named(
    told: Callable[[], list[str]],
) -> None:
    tasks = [RecoveryTask(f"/data/t-{n}", LogConfig(), 0, 0, 0, 0) for n in range(10_000)]
    clock = ManualClock()

    def recover(tasks: object) -> list[RecoveryOutcome]:
        clock.advance(1500)
        return [RecoveryOutcome(f"/data/t-{n}", 100, 7 if n == 4711 else 0) for n in range(10_000)]

    assert len(told_recovery(recover, clock)(tasks)) == 10_000
    assert told() == [
        "/data was not closed cleanly: recovering 10000 logs",
        "/data/t-4711 was torn: cut 7 bytes off",
        "/data: recovered 10000 logs in 1.50 s, read 1000000 bytes, cut 7 bytes off 1 log",
    ]
