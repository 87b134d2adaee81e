"""Topics that lose records, vanish or hold damaged ones, under a pipeline and between its runs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from headrace.testing import EmbeddedKafka
from tests.support.pipeline_runs import Function, PipelineRuns

Seen = list[int]


@pytest.fixture
def runs(spark: Any, node: EmbeddedKafka, tmp_path: Path) -> Iterator[PipelineRuns]:
    found = PipelineRuns(spark, node.bootstrap_servers, tmp_path)
    yield found
    found.close()


def produce(node: EmbeddedKafka, topic: str, numbers: range) -> None:
    node.produce(topic, [str(number) for number in numbers])


def delete_before(node: EmbeddedKafka, topic: str, offset: int) -> None:
    admin = AdminClient({"bootstrap.servers": node.bootstrap_servers})
    for future in admin.delete_records([TopicPartition(topic, 0, offset)]).values():
        future.result()


def collecting(topic: str, seen: Seen, before_batch: Any = None, **options: str) -> Function:
    """A pipeline that keeps the numbers of each batch, after something was done to the topic."""

    def each(batch: Any, batch_id: int) -> None:
        if before_batch is not None:
            before_batch(batch_id)
        seen.extend(int(row.value) for row in batch.select("value").collect())

    def function(spark: Any) -> Any:
        reader = spark.readStream.format("headrace").option("subscribe", topic)
        given = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "20", **options}
        return reader.options(**given).load().writeStream.foreachBatch(each)

    return function


def has(seen: Seen, count: int) -> bool:
    return len(seen) == count


def last_rows(run: Any) -> int | None:
    """How many the last batch had."""
    last = run.status.statistics.last
    return None if last is None else int(last.rows_in)


def test_records_deleted_under_a_query_and_between_two_runs(
    runs: PipelineRuns, node: EmbeddedKafka
) -> None:
    topic, seen = node.topic(), Seen()
    produce(node, topic, range(100))

    def lose(batch_id: int) -> None:
        if batch_id == 1:
            delete_before(node, topic, 70)

    told = runs.fail("losing", collecting(topic, seen, lose))
    # A small batch may have been read when it was planned, before anything was deleted.
    at = node.committed("losing")[topic, 0]
    assert at in (20, 40)
    assert told.startswith(f"Offset {at} of {topic}-0 is gone: its log has 70 to 100.")
    assert "with failOnDataLoss=false the query goes on without them" in told
    assert seen == list(range(at))
    # It stays where it is, until somebody says that the rest will do.
    assert runs.fail("losing", collecting(topic, seen)) == told
    runs.finish("losing", collecting(topic, seen, failOnDataLoss="false"))
    assert seen == [*range(at), *range(70, 100)]
    assert node.committed("losing") == {(topic, 0): 100}

    produce(node, topic, range(100, 200))
    delete_before(node, topic, 150)
    assert "Offset 100 of" in runs.fail("losing", collecting(topic, seen))
    runs.finish("losing", collecting(topic, seen, failOnDataLoss="false"))
    assert seen == [*range(at), *range(70, 100), *range(150, 200)]


def test_a_topic_that_vanishes_and_comes_back(runs: PipelineRuns, node: EmbeddedKafka) -> None:
    strict, lenient = node.topic(), node.topic()
    seen: dict[str, Seen] = {strict: Seen(), lenient: Seen()}
    both = [
        runs.start("strict", collecting(strict, seen[strict])),
        runs.start("lenient", collecting(lenient, seen[lenient], failOnDataLoss="false")),
    ]
    for topic, run in zip(seen, both, strict=True):
        produce(node, topic, range(50))
        runs.wait(run, partial(has, seen[topic], 50))
        node.delete_topic(topic)
    told = runs.failure_of(both[0])
    assert told.startswith(f"{strict}-0 is gone: records may be lost to this query.")
    runs.wait(both[1], lambda: last_rows(both[1]) == 0)
    for topic in seen:
        node.create_topic(topic)
        produce(node, topic, range(50, 80))
    # To the one that may go on, the topic is a new one, which is read from its beginning.
    runs.wait(both[1], lambda: seen[lenient] == list(range(80)))
    runs.stop(both[1])
    assert node.committed("lenient") == {(lenient, 0): 30}
    # The other is not led to believe that it has read the first records of the new topic.
    told = runs.fail("strict", collecting(strict, seen[strict]))
    assert told.startswith(f"{strict}-0 ends at 30, before offset 50: records may be lost")
    assert seen[strict] == list(range(50))


@pytest.mark.no_second_chance
def test_a_damaged_batch_on_disk_is_named_and_read_once_it_is_whole_again(
    runs: PipelineRuns, node: EmbeddedKafka
) -> None:
    topic, seen = node.topic(), Seen()
    for first in (0, 10, 20):
        produce(node, topic, range(first, first + 10))
    (segment,) = (node.data_dir / f"{topic}-0").glob("*.log")
    whole = segment.read_bytes()
    at = whole.index(b"15")
    segment.write_bytes(whole[:at] + b"x" + whole[at + 1 :])

    def written(passing: bool) -> Function:
        return collecting(topic, seen, failOnDataLoss=str(not passing).lower())

    told = runs.fail("damaged", written(passing=False))
    assert told.startswith(f"{topic}-0: ")
    assert "With failOnDataLoss=false the query passes over what cannot be read." in told
    assert (seen, node.committed("damaged")) == ([], {})
    runs.finish("passing", written(passing=True))
    assert seen == [*range(10), *range(20, 30)]
    seen.clear()
    segment.write_bytes(whole)
    runs.finish("damaged", written(passing=False))
    assert seen == list(range(30))
    assert node.committed("damaged") == {(topic, 0): 30}
