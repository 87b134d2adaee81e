"""The work a node does beside serving: each kind on a real node, asked for at the right moment."""

from __future__ import annotations

import errno
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from headrace.client.blocking import KafkaClient
from headrace.client.producing import ProducerConfig, RecordSender
from headrace.log import log_maintenance
from headrace.log.checkpoint_rounds import CheckpointRound
from headrace.log.checkpoints import (
    CLEANER_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    OffsetCheckpoint,
)
from headrace.log.cleaner.job import CleaningError
from headrace.log.directories import DataDirectory
from headrace.log.errors import LogDirFailure
from headrace.server import maintenance as maintenance_module
from headrace.server.helper_process import HelperDiedError
from headrace.server.node import Node
from headrace.server.part_configs import maintenance_config
from headrace.testing.topics import create_topic, delete_topics
from tests.support.talk import consume, produce
from tests.unit.server.counted_rounds import CountedRounds
from tests.unit.server.nodes import formatted, run, with_client

_NOTHING: Mapping[str, str] = {}
#: So that a test alone decides when something happens.
_NEVER = {
    "log.retention.check.interval.ms": "86400000",
    "log.cleaner.backoff.ms": "86400000",
    "replica.high.watermark.checkpoint.interval.ms": "86400000",
    "log.flush.offset.checkpoint.interval.ms": "86400000",
    "log.flush.start.offset.checkpoint.interval.ms": "86400000",
}


def on_node(tmp_path: Path, story: Callable[[Node], Awaitable[None]], **settings: str) -> None:
    given = {name.replace("_", "."): value for name, value in settings.items()}
    run(formatted(tmp_path / "data", {**_NEVER, **given}), story)


def checkpoint(tmp_path: Path, name: str) -> dict[tuple[str, int], int]:
    return OffsetCheckpoint(str(tmp_path / "data"), name).read()


def test_segments_past_their_time_go_and_the_log_starts_later(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        def work(client: KafkaClient) -> None:
            create_topic(client, "old", 1, {"retention.ms": "1000", "file.delete.delay.ms": "0"})
            produce(client, "old", [b"x"] * 10, timestamp=1)

        await with_client(node, work)
        log = node.partitions.require("old", 0).log
        await node.maintenance.retain()
        assert log.log_start_offset == 10
        assert names(log.directory, "*.log") == [f"{10:020}.log"]
        await node.maintenance.delete()
        assert names(log.directory, "*.deleted") == []
        assert await with_client(node, lambda client: consume(client, "old", start=10)) == []

    on_node(tmp_path, story)


def test_an_active_reader_keeps_its_place_when_retention_finds_nothing(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        def work(client: KafkaClient) -> None:
            create_topic(client, "kept", 1, {"retention.ms": "-1"})
            produce(client, "kept", [b"x"] * 10, timestamp=1)

        await with_client(node, work)
        await node.maintenance.retain()
        assert len(await with_client(node, lambda client: consume(client, "kept"))) == 10

    on_node(tmp_path, story)


def test_a_topic_deleted_on_a_full_disk_and_the_next_of_its_name_are_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = os.rename

    def no_room(old: str, new: str) -> None:
        if new.endswith("-delete"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), new)
        rename(old, new)

    async def story(node: Node) -> None:
        def work(client: KafkaClient) -> None:
            create_topic(client, "orders", 1, {})
            produce(client, "orders", [b"old"])
            delete_topics(client, ["orders"])
            create_topic(client, "orders", 1, {})

        with monkeypatch.context() as patch:
            patch.setattr(os, "rename", no_room)
            await with_client(node, work)
            assert ("orders", 0) in node.logs.logs
            assert node.partitions.offline == {("orders", 0)}
        await node.maintenance.try_refused_logs()
        assert node.partitions.require("orders", 0).log.log_end_offset == 0
        assert len(names(str(tmp_path / "data"), "orders-*-delete")) == 1

    on_node(tmp_path, story)


def test_a_flush_moves_the_recovery_point_and_the_checkpoint_follows(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        def work(client: KafkaClient) -> None:
            create_topic(client, "flushed", 1, {"flush.ms": "0"})
            create_topic(client, "unflushed", 1, {})
            produce(client, "flushed", [b"x"] * 5)
            produce(client, "unflushed", [b"x"] * 5)

        await with_client(node, work)
        await node.maintenance.flush()
        assert node.partitions.require("flushed", 0).log.recovery_point == 5
        assert node.partitions.require("unflushed", 0).log.recovery_point == 0
        await node.maintenance.write_checkpoints()
        written = checkpoint(tmp_path, RECOVERY_POINT_CHECKPOINT)
        assert written == {("flushed", 0): 5, ("unflushed", 0): 0}

    on_node(tmp_path, story)
    # A clean stop flushes everything.
    assert set(checkpoint(tmp_path, RECOVERY_POINT_CHECKPOINT).values()) == {5}


def test_high_watermarks_are_written_only_when_one_moved(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        def work(client: KafkaClient) -> None:
            create_topic(client, "orders", 1, {})
            produce(client, "orders", [b"x"] * 3)

        await with_client(node, work)
        await node.maintenance.write_high_watermarks()
        assert checkpoint(tmp_path, HIGH_WATERMARK_CHECKPOINT) == {("orders", 0): 3}
        path = tmp_path / "data" / HIGH_WATERMARK_CHECKPOINT
        before = path.stat().st_ino
        await node.maintenance.write_high_watermarks()
        assert path.stat().st_ino == before
        await with_client(node, lambda client: produce(client, "orders", [b"y"]))
        await node.maintenance.write_high_watermarks()
        assert checkpoint(tmp_path, HIGH_WATERMARK_CHECKPOINT) == {("orders", 0): 4}

    on_node(tmp_path, story)


def test_the_directory_of_a_deleted_topic_goes_after_its_delay(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        def work(client: KafkaClient) -> None:
            create_topic(client, "gone", 1, {})
            delete_topics(client, ["gone"])

        await with_client(node, work)
        assert len(list((tmp_path / "data").glob("gone-0.*-delete"))) == 1
        await node.maintenance.delete()
        assert not list((tmp_path / "data").glob("gone*"))

    on_node(tmp_path, story, log_segment_delete_delay_ms="0")


def test_the_directory_of_a_deleted_topic_that_the_disk_keeps_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(path: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    def left() -> list[str]:
        return names(str(tmp_path / "data"), "gone-*-delete")

    async def story(node: Node) -> None:
        def work(client: KafkaClient) -> None:
            create_topic(client, "gone", 2, {})
            delete_topics(client, ["gone"])

        await with_client(node, work)
        with monkeypatch.context() as patch:
            patch.setattr(log_maintenance, "_REMOVAL_AGAIN_MS", 0)
            patch.setattr(maintenance_module, "remove_directory", refuse)
            await node.maintenance.delete()
        assert len(left()) == 2
        await node.maintenance.delete()
        assert left() == []

    monkeypatch.setattr(maintenance_module, "_LOOK_MS", 86_400_000)
    on_node(tmp_path, story, log_segment_delete_delay_ms="0")
    told = [
        one.message for one in caplog.records if "deleted partitions not removed" in one.message
    ]
    assert len(told) == 1
    assert "No space left on device" in told[0]


def test_compaction_keeps_the_last_value_of_each_key(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        await with_client(node, make_dirty)
        await node.maintenance.compact()
        records = await with_client(node, lambda client: consume(client, "compacted"))
        assert {record.key: record.value for record in records} == {
            b"a": b"last",
            b"b": b"last",
            b"c": b"end",
        }
        assert len(records) < 20

    on_node(tmp_path, story)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("log.cleaner.io.max.bytes.per.second", "0"),
        ("log.cleaner.io.max.bytes.per.second", "-1"),
        ("log.cleaner.io.buffer.load.factor", "Infinity"),
        ("log.cleaner.io.buffer.load.factor", "0"),
    ],
)
def test_compaction_works_with_any_number_that_its_settings_take(
    tmp_path: Path, setting: str, value: str
) -> None:
    async def story(node: Node) -> None:
        await with_client(node, make_dirty)
        await node.maintenance.compact()
        assert len(await with_client(node, lambda client: consume(client, "compacted"))) < 19

    on_node(tmp_path, story, **{setting: value})


def test_how_far_a_log_is_clean_is_on_the_disk_when_its_round_ends(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        await with_client(node, make_dirty)
        log = node.partitions.require("compacted", 0).log
        await node.maintenance.compact()
        # A crash now costs no second round: the periodic checkpoint is far away.
        written = checkpoint(tmp_path, CLEANER_CHECKPOINT)
        assert written == {("compacted", 0): log.active.base_offset}

    on_node(tmp_path, story)


def test_a_cleaner_that_dies_leaves_the_log_as_it_was(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(node: Node) -> None:
        await with_client(node, make_dirty)
        before = await with_client(node, lambda client: consume(client, "compacted"))

        async def die(job: str, argument: object) -> object:
            raise HelperDiedError("the cleaner process ended unexpectedly")

        node.cleaner.run = die  # type: ignore[method-assign]
        await node.maintenance.compact()
        assert await with_client(node, lambda client: consume(client, "compacted")) == before

    on_node(tmp_path, story)
    assert "the cleaner process ended unexpectedly" in caplog.text


def test_a_full_disk_is_tried_once_for_each_log_and_then_left_until_the_next_round(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(node: Node) -> None:
        for topic in ("a", "b"):
            await with_client(node, lambda client, topic=topic: make_dirty(client, topic))  # type: ignore[misc]
        tried: list[str] = []

        async def find_no_room(job: str, argument: Any) -> object:
            tried.append(argument.topic)
            if len(tried) > 10:
                raise HelperDiedError("this would go on for ever")
            raise CleaningError("No space left on device", errno.ENOSPC)

        run_really, node.cleaner.run = node.cleaner.run, find_no_room  # type: ignore[method-assign]
        await node.maintenance.compact()
        assert sorted(tried) == ["a", "b"]
        await node.maintenance.compact()
        assert sorted(tried) == ["a", "a", "b", "b"]
        node.cleaner.run = run_really  # type: ignore[method-assign]
        await node.maintenance.compact()
        for topic in ("a", "b"):
            kept = await with_client(node, lambda client, topic=topic: consume(client, topic))  # type: ignore[misc]
            assert len(kept) < 19

    on_node(tmp_path, story)
    assert "No space left on device" in caplog.text


def test_a_log_that_cannot_be_looked_at_keeps_the_cleaner_from_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stat = os.stat

    def out_of_files(path: str, **options: bool) -> os.stat_result:
        if "odd-0" in str(path):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), path)
        return stat(path, **options)

    async def story(node: Node) -> None:
        for topic in ("odd", "good"):
            await with_client(node, lambda client, topic=topic: make_dirty(client, topic))  # type: ignore[misc]
        with monkeypatch.context() as patch:
            patch.setattr(os, "stat", out_of_files)
            with pytest.raises(LogDirFailure, match="odd-0: Too many open files"):
                await node.maintenance.compact()
        for topic, compacted in (("odd", False), ("good", True)):
            kept = await with_client(node, lambda client, topic=topic: consume(client, topic))  # type: ignore[misc]
            assert (len(kept) < 19) is compacted

    on_node(tmp_path, story)


def test_what_goes_wrong_in_the_cleaner_costs_its_log_one_round_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(node: Node) -> None:
        def make_both(client: KafkaClient) -> None:
            make_dirty(client, "bad", {"cleanup.policy": "compact,delete", "retention.ms": "-1"})
            make_dirty(client, "good")

        await with_client(node, make_both)
        run_really = node.cleaner.run

        async def fail_for_bad(job: str, argument: Any) -> object:
            if argument.topic == "bad":
                raise MemoryError("no memory for its keys")
            return await run_really(job, argument)

        node.cleaner.run = fail_for_bad  # type: ignore[method-assign]
        await node.maintenance.compact()
        assert len(await with_client(node, lambda client: consume(client, "good"))) < 19
        assert len(await with_client(node, lambda client: consume(client, "bad"))) == 19
        # Memory, or a setting, may be better next time: only data that is bad stays bad.
        assert node.logs.cleaning.uncleanable == {}
        node.cleaner.run = run_really  # type: ignore[method-assign]
        await node.maintenance.compact()
        assert len(await with_client(node, lambda client: consume(client, "bad"))) < 19

    on_node(tmp_path, story)
    assert "no memory for its keys" in caplog.text


def test_what_goes_wrong_in_the_cleaner_again_and_again_is_told_in_full_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(node: Node) -> None:
        await with_client(node, make_dirty)

        async def fail(job: str, argument: object) -> object:
            raise MemoryError("no memory for its keys")

        node.cleaner.run = fail  # type: ignore[method-assign]
        for _ in range(3):
            await node.maintenance.compact()

    on_node(tmp_path, story)
    assert caplog.text.count("Traceback") == 1
    assert "compaction of compacted-0 failed 2 times in a row: MemoryError" in caplog.text


def test_data_that_cannot_be_read_costs_its_log_compaction_and_not_retention(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(node: Node) -> None:
        settings = {"cleanup.policy": "compact,delete", "retention.ms": "1000"}
        await with_client(node, lambda client: make_dirty(client, "bad", settings))

        async def find_it_corrupt(job: str, argument: Any) -> object:
            raise CleaningError("a corrupt batch")

        node.cleaner.run = find_it_corrupt  # type: ignore[method-assign]
        await node.maintenance.compact()
        # It is told in the metrics, and not tried again.
        assert node.logs.cleaning.uncleanable == {("bad", 0): "a corrupt batch"}
        log = node.partitions.require("bad", 0).log
        assert log.log_start_offset == 0
        await node.maintenance.retain()
        assert log.log_start_offset > 0

    on_node(tmp_path, story)
    assert "a corrupt batch" in caplog.text


def test_a_log_that_kills_the_cleaner_keeps_it_from_no_other(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        for topic in ("deadly", "good"):
            await with_client(node, lambda client, topic=topic: make_dirty(client, topic))  # type: ignore[misc]
        run_really = node.cleaner.run
        tried: list[str] = []

        async def die_of_deadly(job: str, argument: Any) -> object:
            tried.append(argument.topic)
            if argument.topic == "deadly":
                raise HelperDiedError("the cleaner process ended unexpectedly")
            return await run_really(job, argument)

        node.cleaner.run = die_of_deadly  # type: ignore[method-assign]
        await node.maintenance.compact()
        assert tried == ["deadly", "good"]
        assert len(await with_client(node, lambda client: consume(client, "good"))) < 19
        await node.maintenance.compact()
        assert tried == ["deadly", "good", "deadly"]

    on_node(tmp_path, story)


def test_a_cleaner_that_cannot_start_is_asked_once_for_each_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(node: Node) -> None:
        for topic in ("a", "b"):
            await with_client(node, lambda client, topic=topic: make_dirty(client, topic))  # type: ignore[misc]
        await node.cleaner.close()
        await node.maintenance.compact()
        assert caplog.text.count("the cleaner process ended unexpectedly") == 2

    on_node(tmp_path, story)


@pytest.mark.parametrize(
    ("setting", "work"),
    [
        ("log.cleaner.backoff.ms", "compact"),
        ("log.flush.offset.checkpoint.interval.ms", "write_checkpoints"),
    ],
)
def test_an_interval_of_0_leaves_the_loop_to_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, work: str
) -> None:
    rounds = CountedRounds(monkeypatch, work)

    async def story(node: Node) -> None:
        assert await rounds.more(2) > 100

    on_node(tmp_path, story, **{setting: "0"})


def test_a_new_pause_of_the_cleaner_counts_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = CountedRounds(monkeypatch, "compact")

    async def story(node: Node) -> None:
        config = maintenance_config({**node.config.values, "log.cleaner.backoff.ms": 1})
        node.maintenance.reconfigure(config)  # a pause of a day has begun
        await rounds.more(3)

    on_node(tmp_path, story)


def test_work_that_fails_once_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(maintenance_module, "_LOOK_MS", 1)
    rounds = CountedRounds(monkeypatch, "flush", ValueError("a bug"))

    async def story(node: Node) -> None:
        await rounds.more(3)
        assert await with_client(node, lambda client: len(client.cluster().nodes)) == 1

    on_node(tmp_path, story)
    assert caplog.text.count("Traceback") == 1
    assert "maintenance (flush) failed 2 times in a row: ValueError: a bug" in caplog.text


def names(directory: str, pattern: str) -> list[str]:
    return sorted(path.name for path in Path(directory).glob(pattern))


def make_dirty(
    client: KafkaClient, topic: str = "compacted", settings: Mapping[str, str] = _NOTHING
) -> None:
    """A compacted topic whose first segments hold many values of two keys."""
    configs = {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0",
        "segment.ms": "1",
        "segment.bytes": "1048576",
        **settings,
    }
    create_topic(client, topic, 1, configs)
    failures: list[object] = []
    sender = RecordSender(client, topic, ProducerConfig(), lambda *e: failures.append(e))
    sender.start()
    timestamp = 1_000

    def put(key: bytes, value: bytes) -> None:
        nonlocal timestamp
        timestamp += 1_000
        sender.send(key, value, timestamp=timestamp)
        sender.flush()

    for number in range(8):
        put(b"a", b"%d" % number)
        put(b"b", b"%d" % number)
    put(b"a", b"last")
    put(b"b", b"last")
    put(b"c", b"end")
    assert not failures
    assert len(consume(client, topic)) == 19


def test_rounds_of_checkpoints_follow_each_other_however_close_they_come(tmp_path: Path) -> None:
    order: list[int] = []
    running: set[int] = set()

    class Round(CheckpointRound):
        def __init__(self, number: int, directory: DataDirectory) -> None:
            super().__init__()
            self._number = number
            self.add(directory, RECOVERY_POINT_CHECKPOINT, {("t", 0): number})

        def run(self) -> None:
            running.add(self._number)
            super().run()
            assert running == {self._number}
            running.clear()
            order.append(self._number)

    async def story(node: Node) -> None:
        (directory,) = node.directories
        for number in range(50):
            node.maintenance.write_soon(Round(number, directory))
        await node.scheduler.in_turn(lambda: None)
        assert order == list(range(50))
        assert directory.online
        assert checkpoint(tmp_path, RECOVERY_POINT_CHECKPOINT) == {("t", 0): 49}

    on_node(tmp_path, story)
