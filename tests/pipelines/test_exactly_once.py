"""`to_topic(..., exactly_once=True)`: every record once, whatever happens in between."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from headrace.spark.exactly_once import BatchTransactions
from headrace.spark.topic_output import to_topic
from headrace.testing import EmbeddedKafka
from tests.support.apache_kafka import ApacheKafka
from tests.support.committed import committed_values, group_offsets, new_topic, produce

pytestmark = pytest.mark.no_second_chance


@pytest.fixture(params=["headrace", "apache"])
def servers(request: pytest.FixtureRequest, node: EmbeddedKafka) -> str:
    """The bootstrap servers of each broker in turn."""
    if request.param == "headrace":
        return node.bootstrap_servers
    apache: ApacheKafka = request.getfixturevalue("apache")
    return apache.bootstrap


def events(spark: Any, servers: str, topic: str, **options: str) -> Any:
    reader = (
        spark.readStream.format("headrace")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
    )
    for name, value in options.items():
        reader = reader.option(name, value)
    return reader.load()


def run(writer: Any) -> None:
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    finally:
        query.stop()


def test_a_query_copies_each_record_once_and_its_group_has_no_lag(
    spark: Any, servers: str, tmp_path: Path
) -> None:
    source, target = new_topic(servers, 3), new_topic(servers, 4)
    produce(servers, source, range(2_000))
    checkpoint = str(tmp_path / "checkpoint")
    group = f"group-{target}"

    def writer() -> Any:
        rows = events(spark, servers, source, maxOffsetsPerTrigger="700").select("key", "value")
        return to_topic(
            rows.repartition(3),
            topic=target,
            bootstrap=servers,
            exactly_once=True,
            group=group,
            checkpoint=checkpoint,
        )

    run(writer())
    produce(servers, source, range(2_000, 3_000))
    run(writer())
    assert committed_values(servers, target) == Counter(range(3_000))
    ends = group_offsets(servers, group, source, 3)
    assert sum(ends.values()) == 3_000


def test_a_batch_that_was_committed_is_left_out_when_spark_runs_it_again(
    spark: Any, servers: str, tmp_path: Path
) -> None:
    source, target = new_topic(servers, 2), new_topic(servers, 2)
    produce(servers, source, range(500))
    checkpoint = tmp_path / "checkpoint"

    def writer() -> Any:
        return to_topic(
            events(spark, servers, source).select("key", "value"),
            topic=target,
            bootstrap=servers,
            exactly_once=True,
            group=f"group-{target}",
            checkpoint=str(checkpoint),
        )

    run(writer())
    # As if the driver had died between Kafka's commit and Spark's.
    for name in ("0", ".0.crc"):
        (checkpoint / "commits" / name).unlink(missing_ok=True)
    produce(servers, source, range(500, 600))
    run(writer())
    assert committed_values(servers, target) == Counter(range(600))
    # A new checkpoint is another query: its batch 0 is not the one that was seen.
    shutil.rmtree(checkpoint)
    run(writer())
    assert committed_values(servers, target) == Counter([*range(600), *range(600)])


def test_a_failing_task_leaves_nothing_and_the_next_run_writes_all(
    spark: Any, node: EmbeddedKafka, tmp_path: Path
) -> None:
    servers = node.bootstrap_servers
    source, target = new_topic(servers, 2), new_topic(servers, 2)
    produce(servers, source, range(1_000))
    flag = tmp_path / "fail"
    flag.touch()

    def writer() -> Any:
        path = str(flag)

        def poison(batches: Any) -> Any:
            import os

            for number, batch in enumerate(batches):
                yield batch
                if number == 0 and os.path.exists(path):
                    raise RuntimeError("poison")

        rows = events(spark, servers, source).select("key", "value")
        return to_topic(
            rows.mapInArrow(poison, rows.schema),
            topic=target,
            bootstrap=servers,
            exactly_once=True,
            group=f"group-{target}",
            checkpoint=str(tmp_path / "checkpoint"),
            options={"kafka.batch.size": "16384"},
        )

    with pytest.raises(Exception, match="poison"):
        run(writer())
    assert committed_values(servers, target) == Counter()
    flag.unlink()
    run(writer())
    assert committed_values(servers, target) == Counter(range(1_000))


def test_a_second_run_fences_the_first(
    spark: Any, node: EmbeddedKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = node.bootstrap_servers
    target = new_topic(servers, 2)
    df = spark.range(100).selectExpr("cast(id as string) as value")

    def write(**more: Any) -> None:
        to_topic(df, topic=target, bootstrap=servers, exactly_once=True, **more)

    write(transactional_id="fenced")
    original = BatchTransactions._run

    def overtaken(self: BatchTransactions, *args: Any) -> Any:
        monkeypatch.setattr(BatchTransactions, "_run", original)
        write(transactional_id="fenced")
        return original(self, *args)

    monkeypatch.setattr(BatchTransactions, "_run", overtaken)
    with pytest.raises(Exception, match=r"taken over|INVALID_PRODUCER_EPOCH|PRODUCER_FENCED"):
        write(transactional_id="fenced")
    assert committed_values(servers, target) == Counter(dict.fromkeys(range(100), 2))


def test_a_source_that_is_no_topic_is_replayed_no_further(
    spark: Any, servers: str, tmp_path: Path
) -> None:
    target = new_topic(servers, 2)
    checkpoint = tmp_path / "checkpoint"
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text("\n".join(f'{{"value": "{n}"}}' for n in range(50)))

    def writer() -> Any:
        rows = spark.readStream.schema("value string").json(str(tmp_path / "in"))
        return to_topic(
            rows, topic=target, bootstrap=servers, exactly_once=True, checkpoint=str(checkpoint)
        )

    run(writer())
    for name in ("0", ".0.crc"):
        (checkpoint / "commits" / name).unlink(missing_ok=True)
    run(writer())
    assert committed_values(servers, target) == Counter(range(50))


def test_offsets_of_a_topic_with_the_same_name_elsewhere_are_not_committed_here(
    spark: Any, node: EmbeddedKafka, apache: ApacheKafka, tmp_path: Path
) -> None:
    here, there = node.bootstrap_servers, apache.bootstrap
    source, target = new_topic(there, 1), new_topic(here, 1)
    node.create_topic(source)
    produce(there, source, range(40))
    checkpoint, group = tmp_path / "checkpoint", f"group-{target}"

    def writer() -> Any:
        rows = events(spark, there, source).select("key", "value")
        where: dict[str, Any] = {"topic": target, "bootstrap": here, "group": group}
        return to_topic(rows, exactly_once=True, checkpoint=str(checkpoint), **where)

    run(writer())
    assert all(offset < 0 for offset in group_offsets(here, group, source, 1).values())
    # The batch is known as committed all the same.
    for name in ("0", ".0.crc"):
        (checkpoint / "commits" / name).unlink(missing_ok=True)
    run(writer())
    assert committed_values(here, target) == Counter(range(40))


def test_mistakes_are_told_in_one_sentence(spark: Any, node: EmbeddedKafka) -> None:
    servers = node.bootstrap_servers
    df = spark.range(3).selectExpr("cast(id as string) as value")
    with pytest.raises(Exception, match=r"kafka\.bootstrap\.servers is missing"):
        to_topic(df, topic="t", exactly_once=True)
    with pytest.raises(Exception, match="No topic is given"):
        to_topic(df, bootstrap=servers, exactly_once=True)
    bad = df.selectExpr("value", "7 as partition")
    with pytest.raises(Exception, match=r"^Partition 7 is not one of topic .*, which has 2\.$"):
        to_topic(bad, topic=new_topic(servers, 2), bootstrap=servers, exactly_once=True)
