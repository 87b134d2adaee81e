"""The plain sink beside Spark's own: the same rows give the same topics, on both brokers."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import pytest

from headrace.spark import to_topic
from headrace.testing import EmbeddedKafka
from tests.support.apache_kafka import ApacheKafka

COLUMNS = "key string, value binary, headers array<struct<key:string,value:binary>>"


@pytest.fixture(params=["headrace", "apache"])
def servers(request: pytest.FixtureRequest, node: EmbeddedKafka) -> str:
    """The bootstrap servers of each broker in turn."""
    if request.param == "headrace":
        return node.bootstrap_servers
    apache: ApacheKafka = request.getfixturevalue("apache")
    return apache.bootstrap


def new_topic(servers: str, partitions: int = 4) -> str:
    from confluent_kafka.admin import AdminClient, NewTopic

    name = f"sink-{secrets.token_hex(4)}"
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result()
    return name


def read(spark: Any, servers: str, topic: str, *columns: str) -> list[Any]:
    """What Spark's own connector reads, in the order of partition and offset."""
    loaded = (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", topic)
        .option("includeHeaders", "true")
        .load()
    )
    rows = loaded.orderBy("partition", "offset").selectExpr("partition", *columns).collect()
    return [tuple(row) for row in rows]


def write(df: Any, kind: str, servers: str, topic: str, **options: str) -> None:
    writer = df.write.format(kind).mode("append").option("kafka.bootstrap.servers", servers)
    for name, value in {"topic": topic, **options}.items():
        writer = writer.option(name.replace("__", "."), value)
    writer.save()


def some_rows(spark: Any) -> Any:
    rows = [
        (
            None if number % 11 == 3 else f"key-{number % 50}" * (number % 4),
            None if number % 13 == 5 else b"v%d" % number * (number % 300),
            [(f"h{number % 3}", b"%d" % number), ("n", None)] if number % 2 else None,
        )
        for number in range(3_000)
    ]
    return spark.createDataFrame(rows, COLUMNS).coalesce(1)


def test_sparks_connector_reads_what_it_would_have_written_itself(spark: Any, servers: str) -> None:
    df = some_rows(spark).where("key is not null").cache()
    theirs = new_topic(servers)
    write(df, "kafka", servers, theirs)
    columns = ("key", "value", "headers")
    expected = read(spark, servers, theirs, *columns)
    for codec in ("none", "lz4", "zstd", "gzip", "snappy"):
        ours = new_topic(servers)
        write(df, "headrace", servers, ours, kafka__compression__type=codec)
        assert read(spark, servers, ours, *columns) == expected, codec
    df.unpersist()


def test_rows_without_a_key_all_arrive(spark: Any, servers: str) -> None:
    topic = new_topic(servers)
    write(some_rows(spark), "headrace", servers, topic)
    found = read(spark, servers, topic, "key", "value")
    expected = some_rows(spark).selectExpr("cast(key as binary) as key", "value").collect()
    assert sorted(map(repr, (row[1:] for row in found))) == sorted(
        repr(tuple(row)) for row in expected
    )


def test_topics_partitions_and_timestamps_come_from_columns(spark: Any, servers: str) -> None:
    first, second = new_topic(servers), new_topic(servers)
    rows = [(first, 3, "a", "one"), (second, None, "a", "two"), (first, 0, "a", "three")]
    df = spark.createDataFrame(rows, "topic string, partition int, key string, value string")
    dated = df.selectExpr("*", "timestamp_millis(1700000000123) as timestamp")
    dated.write.format("headrace").mode("append").option("kafka.bootstrap.servers", servers).save()
    got = read(spark, servers, first, "cast(value as string)", "unix_millis(timestamp)")
    assert got == [(0, "three", 1700000000123), (3, "one", 1700000000123)]
    theirs = new_topic(servers)
    write(df.where("value = 'two'"), "kafka", servers, theirs)
    assert read(spark, servers, second, "value") == read(spark, servers, theirs, "value")


def test_a_stream_goes_on_where_it_stopped(spark: Any, servers: str, tmp_path: Path) -> None:
    source, target = new_topic(servers), new_topic(servers)
    for part in range(2):
        df = spark.range(part * 500, part * 500 + 500).selectExpr(
            "cast(id as string) as key", "cast(id as string) as value"
        )
        write(df, "kafka", servers, source)
        query = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", servers)
            .option("subscribe", source)
            .option("startingOffsets", "earliest")
            .load()
            .select("key", "value")
            .writeStream.format("headrace")
            .option("kafka.bootstrap.servers", servers)
            .option("topic", target)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    found = [int(row[1]) for row in read(spark, servers, target, "cast(value as string)")]
    assert sorted(found) == list(range(1_000))


@pytest.mark.parametrize("mode", ["append", "update", "complete"])
def test_a_stream_writes_as_a_step_of_its_query_in_every_output_mode(
    spark: Any, node: EmbeddedKafka, tmp_path: Path, mode: str
) -> None:
    servers = node.bootstrap_servers
    source, target = new_topic(servers), new_topic(servers)
    wanted: list[str] = []
    for part in range(2):
        df = spark.range(part * 30, part * 30 + 30).selectExpr("cast(id % 4 as string) as value")
        write(df, "kafka", servers, source)
        stream = (
            spark.readStream.format("headrace")
            .option("kafka.bootstrap.servers", servers)
            .option("subscribe", source)
            .option("startingOffsets", "earliest")
            .load()
        )
        if mode != "append":
            stream = stream.groupBy("value").count()
            stream = stream.selectExpr("value as key", "concat(value, '=', count) as value")
        writer = to_topic(
            stream.select("value"),
            topic=target,
            bootstrap=servers,
            checkpoint=str(tmp_path / "checkpoint"),
        )
        query = writer.outputMode(mode).trigger(availableNow=True).start()
        assert query.awaitTermination(120)
        assert query.exception() is None
        numbers = range(part * 30, part * 30 + 30)
        if mode == "append":
            wanted += [str(number % 4) for number in numbers]
        else:
            read_so_far = range(numbers.stop)
            wanted += [f"{k}={sum(n % 4 == k for n in read_so_far)}" for k in range(4)]
    found = [row[1] for row in read(spark, servers, target, "cast(value as string)")]
    assert sorted(found) == sorted(wanted)


def test_mistakes_are_told_in_one_sentence(spark: Any, node: EmbeddedKafka) -> None:
    servers = node.bootstrap_servers
    df = spark.range(3).selectExpr("cast(id as string) as value", "id")
    for bad, options, sentence in (
        (df.select("id"), {}, "The data has no column value"),
        (df, {"kafka__compression__type": "rar"}, "kafka.compression.type is one of"),
        (df.selectExpr("id as key", "value"), {}, "Column key is string or binary, not bigint"),
        (df.selectExpr("value", "9 as partition"), {}, "Partition 9 is not one of topic"),
    ):
        with pytest.raises(Exception, match=sentence):
            write(bad, "headrace", servers, node.topic(), **options)
    with pytest.raises(Exception, match="No topic is given"):
        write(df, "headrace", servers, "")
    with pytest.raises(Exception, match="A topic cannot be overwritten"):
        df.write.format("headrace").mode("overwrite").options(
            **{"kafka.bootstrap.servers": servers, "topic": "t"}
        ).save()
    with pytest.raises(Exception, match="No broker can be reached at"):
        write(df, "headrace", "127.0.0.1:1", "t")
