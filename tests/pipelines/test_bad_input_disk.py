"""A disk that is full under a pipeline's checkpoint: it ends, says so, and goes on later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.testing import EmbeddedKafka
from tests.support.committed import committed_values
from tests.support.pipeline_runs import Function, PipelineRuns
from tests.support.small_disk import SmallDisk, small_disk

pytestmark = pytest.mark.no_second_chance

_FULL = "The disk below its checkpoint is full: make room, then start it again"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", 4) as found:
        yield found


@pytest.fixture
def runs(
    spark: Any, node: EmbeddedKafka, disk: SmallDisk, tmp_path: Path
) -> Iterator[PipelineRuns]:
    found = PipelineRuns(spark, node.bootstrap_servers, tmp_path / "state")
    yield found
    found.close()


def copying(source: str, target: str) -> Function:
    def function(spark: Any) -> Any:
        from headrace.spark.topic_output import to_topic

        reader = spark.readStream.format("headrace").option("subscribe", source)
        events = reader.option("startingOffsets", "earliest").load()
        return to_topic(events.select("key", "value"), topic=target, exactly_once=True)

    return function


def counting(source: str, counts: dict[int, int]) -> Function:
    """Keeps state, which is on the disk too."""

    def each(batch: Any, batch_id: int) -> None:
        counts.update({row.k: row["count"] for row in batch.collect()})

    def function(spark: Any) -> Any:
        reader = spark.readStream.format("headrace").option("subscribe", source)
        events = reader.option("startingOffsets", "earliest").load()
        numbers = events.selectExpr("cast(cast(value as string) as int) % 3 as k")
        return numbers.groupBy("k").count().writeStream.outputMode("update").foreachBatch(each)

    return function


def test_a_full_disk_ends_pipelines_and_room_lets_them_go_on(
    runs: PipelineRuns, node: EmbeddedKafka, disk: SmallDisk
) -> None:
    servers = node.bootstrap_servers
    source, target = node.topic(partitions=2), node.topic(partitions=2)
    counts: dict[int, int] = {}
    # The record of the one is on another disk than its checkpoint, that of the other beside it.
    on_disk: dict[str, dict[str, Any]] = {
        "copy": {"checkpoint_root": str(disk.path / "checkpoints")},
        "counts": {"state": str(disk.path / "state")},
    }
    functions = {"copy": copying(source, target), "counts": counting(source, counts)}
    started = {name: runs.start(name, functions[name], **on_disk[name]) for name in functions}
    node.produce(source, [str(n) for n in range(300)])
    runs.wait(started["counts"], lambda: sum(counts.values()) == 300)
    runs.wait(started["copy"], lambda: sum(node.committed("copy").values()) == 300)

    disk.fill()
    node.produce(source, [str(n) for n in range(300, 600)])
    for run in started.values():
        assert runs.failure_of(run).startswith(_FULL)
    # Nor do they start while there is no room.
    for name, function in functions.items():
        assert runs.fail(name, function, **on_disk[name]).startswith(_FULL)

    disk.make_room()
    for name, function in functions.items():
        runs.finish(name, function, **on_disk[name])
    assert committed_values(servers, target) == Counter(range(600))
    assert counts == {0: 200, 1: 200, 2: 200}
    for group in functions:
        assert sum(node.committed(group).values()) == 600
