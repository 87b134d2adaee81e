"""DescribeLogDirs: directories, sizes, and disks that failed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.base.errors import ErrorCode
from headrace.metadata import records as r
from headrace.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from tests.unit.broker.batches import batch, produce
from tests.unit.broker.harness import Broker

ALL = DescribeLogDirsRequest(topics=None)


@pytest.fixture
def two_disks(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker(tmp_path, directories=2)
    broker.create_topic("t", 2)
    broker.create_topic("u", 1)
    yield broker
    broker.close()


def content(result: Any) -> dict[tuple[str, int], tuple[int, int]]:
    """(size, lag) by partition."""
    return {
        (topic.name, one.partition_index): (one.partition_size, one.offset_lag)
        for topic in result.topics
        for one in topic.partitions
    }


@pytest.mark.parametrize("version", range(1, 6))
def test_every_partition_is_in_one_directory_with_its_size(two_disks: Broker, version: int) -> None:
    data = batch(10)
    produce(two_disks, data, "t", 1)
    response = two_disks.ask(ALL, version)
    assert response.error_code == ErrorCode.NONE
    paths = [result.log_dir for result in response.results]
    assert paths == [directory.path for directory in two_disks.directories]
    found: dict[tuple[str, int], tuple[int, int]] = {}
    for result in response.results:
        assert result.error_code == ErrorCode.NONE
        assert content(result)
        found |= content(result)
        if version >= 4:
            assert result.total_bytes >= result.usable_bytes > 0
    assert found == {("t", 0): (0, 0), ("t", 1): (len(data), 0), ("u", 0): (0, 0)}


def test_only_what_is_asked_for_is_told(two_disks: Broker) -> None:
    asked = [DescribableLogDirTopic(topic="t", partitions=[1, 9])]
    response = two_disks.ask(DescribeLogDirsRequest(topics=asked))
    assert [key for result in response.results for key in content(result)] == [("t", 1)]
    assert len(response.results) == 2
    nothing = two_disks.ask(DescribeLogDirsRequest(topics=[]))
    assert [result.topics for result in nothing.results] == [[], []]


def test_a_failed_directory_is_a_storage_error_and_the_others_are_told(two_disks: Broker) -> None:
    broken, sound = two_disks.directories
    two_disks.logs.fail_directory(broken, "broken")
    first, second = two_disks.ask(ALL).results
    assert (first.log_dir, first.error_code) == (broken.path, ErrorCode.KAFKA_STORAGE_ERROR)
    assert (first.topics, first.total_bytes, first.usable_bytes) == ([], -1, -1)
    assert (second.log_dir, second.error_code) == (sound.path, ErrorCode.NONE)


def test_a_directory_that_cannot_be_looked_at_is_a_storage_error(
    two_disks: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise OSError(5, "broken")

    monkeypatch.setattr("headrace.log.directories.DataDirectory.total_bytes", fail)
    codes = [result.error_code for result in two_disks.ask(ALL).results]
    assert codes == [ErrorCode.KAFKA_STORAGE_ERROR] * 2


def test_a_log_without_a_partition_behind_it_has_an_unknown_lag(two_disks: Broker) -> None:
    two_disks.partitions.remove("u", 0)
    found: dict[tuple[str, int], tuple[int, int]] = {}
    for result in two_disks.ask(ALL).results:
        found |= content(result)
    assert found["u", 0] == (0, -1)


def test_cordoned_directories_are_marked_where_the_cluster_knows_them(two_disks: Broker) -> None:
    two_disks.logs.cordoned = frozenset({two_disks.directories[1].path})
    assert [result.is_cordoned for result in two_disks.ask(ALL).results] == [False, True]
    two_disks.plane.apply([r.FeatureLevelRecord(name="metadata.version", feature_level=29)])
    assert [result.is_cordoned for result in two_disks.ask(ALL).results] == [False, False]
