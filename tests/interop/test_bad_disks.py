"""Disks that are full, read-only, taken or of another cluster."""

from pathlib import Path

import pytest

from headrace.base.errors import ErrorCode
from headrace.records.builder import build_batch
from headrace.records.record import Record
from tests.support.dump import dump_directory
from tests.support.headrace_node import HeadraceNode, headrace
from tests.support.properties import read_properties, write_properties
from tests.support.raw_producer import RawProducer, numbered_batch
from tests.support.readiness import eventually
from tests.support.reading import read_topic
from tests.support.small_disk import small_disk
from tests.support.tool_jvm import ToolJvm
from tests.support.workload import create_topic

pytestmark = pytest.mark.no_second_chance

_KIB = 1024


def _batch_of(size: int) -> bytes:
    return bytes(build_batch([Record(0, 1_700_000_000_000, b"k", bytes(size), ())]))


def _fill(producer: RawProducer, topic: str) -> int:
    """Produce until the disk has no room; returns how many records were acknowledged."""
    for count in range(10_000):
        sent = producer.send(topic, _batch_of(60 * _KIB))
        if sent.error_code:
            assert ErrorCode(sent.error_code) is ErrorCode.KAFKA_STORAGE_ERROR
            return count
    raise AssertionError("the disk is larger than it should be")


def test_a_full_disk_refuses_writes_until_there_is_room_and_serves_reads_all_the_while(
    tmp_path: Path, tools: ToolJvm
) -> None:
    with small_disk(tmp_path / "small", 24) as disk:
        with HeadraceNode(disk.path, settings={"log.retention.ms": "-1"}) as node:
            create_topic(node, "filled")
            create_topic(node, "other")
            disk.take(12)
            with RawProducer(node.bootstrap) as producer:
                assert producer.send("other", numbered_batch(0, 10)).error_code == 0
                count = _fill(producer, "filled")
                disk.fill()
                refused = producer.send("filled", numbered_batch(0, 1))
                assert ErrorCode(refused.error_code) is ErrorCode.KAFKA_STORAGE_ERROR
                assert len(read_topic(node, "filled")) == count
                assert len(read_topic(node, "other")) == 10
                disk.make_room()
                eventually(lambda: producer.send("filled", numbered_batch(0, 1)).error_code == 0)
                eventually(lambda: producer.send("other", numbered_batch(10, 1)).error_code == 0)
            assert node.child.is_running
            node.kill()
            node.start()
            assert [record.offset for record in read_topic(node, "filled")] == list(
                range(count + 1)
            )
        dump_directory(disk.path, tools)


def test_topics_cannot_be_made_on_a_full_disk_and_can_again_when_there_is_room(
    tmp_path: Path, tools: ToolJvm
) -> None:
    with small_disk(tmp_path / "small", 16) as disk:
        with HeadraceNode(disk.path) as node:
            create_topic(node, "before")
            disk.fill()
            assert "No space left on device" in _create_by_tool(node, "meanwhile")
            assert node.child.is_running
            disk.make_room()
            assert _create_by_tool(node, "after") == ""
            with RawProducer(node.bootstrap) as producer:
                for topic in ("before", "after"):
                    assert producer.send(topic, numbered_batch(0, 3)).error_code == 0
        dump_directory(disk.path, tools)


def test_a_partition_that_was_made_on_a_full_disk_is_mended_by_room_alone(
    tmp_path: Path, tools: ToolJvm
) -> None:
    with small_disk(tmp_path / "small", 16) as disk:
        with HeadraceNode(disk.path) as node, RawProducer(node.bootstrap) as producer:
            create_topic(node, "before")
            disk.fill()
            # One partition's records fit into the last page of the metadata log.
            tried = headrace(
                "topics",
                *("--bootstrap-server", node.bootstrap),
                *("--create", "--topic", "meanwhile", "--partitions", "1"),
                check=False,
            )
            assert tried.returncode == 0, tried.stderr
            refused = producer.send("meanwhile", numbered_batch(0, 1))
            assert ErrorCode(refused.error_code) is ErrorCode.KAFKA_STORAGE_ERROR
            disk.make_room()
            eventually(lambda: producer.send("meanwhile", numbered_batch(0, 3)).error_code == 0)
            assert len(read_topic(node, "meanwhile")) == 3
            assert node.child.is_running
        dump_directory(disk.path, tools)


def test_a_node_that_finds_its_disk_full_at_the_start_says_so(tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", 16) as disk:
        node = HeadraceNode(disk.path)
        with node:
            create_topic(node, "kept")
            node.kill()
        disk.fill()
        sentence = _fails_to_start(node)
        assert str(disk.path) in sentence
        assert "No space left on device" in sentence
        disk.make_room()
        with node, RawProducer(node.bootstrap) as producer:
            assert producer.send("kept", numbered_batch(0, 3)).error_code == 0


def test_a_directory_that_vanishes_goes_offline_and_the_others_work_on(
    tmp_path: Path, tools: ToolJvm
) -> None:
    first, second, away = tmp_path / "data", tmp_path / "second", tmp_path / "away"
    node = HeadraceNode(first, settings={"log.dirs": f"{first},{second}"})
    with node, RawProducer(node.bootstrap) as producer:
        for number in range(4):
            create_topic(node, f"spread-{number}", 1, {"internal.segment.bytes": "2000"})
        lost = [f"spread-{n}" for n in range(4) if (second / f"spread-{n}-0").exists()]
        kept = [f"spread-{n}" for n in range(4) if (first / f"spread-{n}-0").exists()]
        assert len(lost) == len(kept) == 2
        for topic in (*lost, *kept):
            assert producer.send(topic, numbered_batch(0, 5)).error_code == 0
        second.rename(away)
        acknowledged = _send_until_refused(producer, lost[0])
        for topic in kept:
            assert producer.send(topic, numbered_batch(5, 5)).error_code == 0
            assert len(read_topic(node, topic)) == 10
        asked = ("--bootstrap-server", node.bootstrap, "--describe")
        assert "KafkaStorageException" in tools.run("LogDirsCommand", *asked).stdout
        node.kill()
    away.rename(second)
    with node, RawProducer(node.bootstrap) as producer:
        for topic, count in ((lost[0], acknowledged), (lost[1], 5)):
            assert len(read_topic(node, topic)) == count
            assert producer.send(topic, numbered_batch(5, 5)).error_code == 0


def _send_until_refused(producer: RawProducer, topic: str) -> int:
    """Write to a file that is open until the next one cannot be made; returns the record count."""
    for count in range(5, 10_000, 5):
        code = ErrorCode(producer.send(topic, numbered_batch(count, 5)).error_code)
        if code is not ErrorCode.NONE:
            assert code is ErrorCode.KAFKA_STORAGE_ERROR
            return count
    raise AssertionError("nothing was refused")


def _create_by_tool(node: HeadraceNode, topic: str) -> str:
    """What the tool says of a failure; nothing if the topic was made."""
    patience = node.work_directory / "client.properties"
    write_properties(patience, {"default.api.timeout.ms": "2000"})
    done = headrace(
        "topics",
        *("--bootstrap-server", node.bootstrap, "--command-config", str(patience)),
        # Enough partitions for their records not to fit into the last page of the metadata log.
        *("--create", "--topic", topic, "--partitions", "200"),
        check=False,
    )
    return done.stderr if done.returncode else ""


def _fails_to_start(node: HeadraceNode) -> str:
    """The one sentence with which a node refuses to start."""
    node.write_properties()
    done = headrace("server", "start", str(node.properties), check=False, timeout=30)
    assert done.returncode == 1
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    assert "Traceback" not in done.stderr
    return lines[-1]


def test_a_read_only_directory_is_told_in_one_sentence(tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", 16) as disk:
        node = HeadraceNode(disk.path)
        with node:
            create_topic(node, "kept")
        disk.make_read_only()
        sentence = _fails_to_start(node)
        assert str(node.directory) in sentence
        assert "read-only" in sentence.lower()


def test_a_directory_that_another_node_holds_is_told_in_one_sentence(tmp_path: Path) -> None:
    with HeadraceNode(tmp_path / "data") as node:
        create_topic(node, "held")
        second = HeadraceNode(tmp_path / "data")
        sentence = _fails_to_start(second)
        assert str(node.directory) in sentence
        assert "another" in sentence or "lock" in sentence
        with RawProducer(node.bootstrap) as producer:
            assert producer.send("held", numbered_batch(0, 3)).error_code == 0


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"cluster.id": "5L6g3nShT-eMCtK--X86sw"}, "cluster"),
        ({"node.id": "9"}, "node.id"),
        ({"version": "7"}, "version"),
    ],
    ids=["cluster", "node", "version"],
)
def test_a_directory_of_another_kind_beside_ours_is_told_in_one_sentence(
    change: dict[str, str], expected: str, tmp_path: Path
) -> None:
    first, second = tmp_path / "data", tmp_path / "second"
    node = HeadraceNode(first, settings={"log.dirs": f"{first},{second}"})
    with node:
        create_topic(node, "kept", 2)
    meta = second / "meta.properties"
    write_properties(meta, {**read_properties(meta), **change})
    sentence = _fails_to_start(node)
    assert expected in sentence
    write_properties(meta, {**read_properties(meta), **read_properties(first / "meta.properties")})


def test_a_directory_that_nobody_formatted_is_told_in_one_sentence(tmp_path: Path) -> None:
    node = HeadraceNode(tmp_path / "data")
    node.directory.mkdir()
    sentence = _fails_to_start(node)
    assert "format" in sentence
    assert str(node.directory) in sentence


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"num.partitions": "many"}, "num.partitions"),
        ({"listeners": "PLAINTEXT//127.0.0.1:9092"}, "listeners"),
        ({"listeners": "NEVER://127.0.0.1:0"}, "NEVER"),
        ({"process.roles": "broker,cook"}, "process.roles"),
        ({"log.cleanup.policy": "sweep"}, "log.cleanup.policy"),
        ({"node.id": "-4"}, "node.id"),
        ({"log.retention.ms": "0"}, "log.retention.ms"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_a_setting_that_cannot_be_is_told_in_one_sentence(
    settings: dict[str, str], expected: str, tmp_path: Path
) -> None:
    node = HeadraceNode(tmp_path / "data")
    node.format()
    node.settings.update(settings)
    assert expected in _fails_to_start(node)


def test_a_port_that_is_taken_is_told_in_one_sentence(tmp_path: Path) -> None:
    with HeadraceNode(tmp_path / "data") as node:
        other = HeadraceNode(tmp_path / "other", port=node.port)
        other.format()
        assert str(node.port) in _fails_to_start(other)
