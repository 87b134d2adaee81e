"""`format("headrace")` reads what is in topics, as Spark's own connector does."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from headrace.testing import EmbeddedKafka
from tests.support.apache_kafka import ApacheKafka

Row = tuple[Any, ...]
COLUMNS = ("topic", "partition", "offset", "key", "value", "headers", "timestamp", "timestampType")


def send(bootstrap: str, topic: str, count: int, *, first: int = 0, codec: str = "none") -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "compression.type": codec})
    for number in range(first, first + count):
        producer.produce(
            topic,
            key=None if number % 5 == 0 else f"k{number % 7}".encode(),
            value=None if number % 11 == 0 else b"v" * (number % 50) + str(number).encode(),
            headers=[("n", str(number).encode()), ("none", None)] if number % 3 == 0 else None,
            timestamp=1_700_000_000_000 + number,
        )
    producer.flush()


def read(spark: Any, bootstrap: str, format_: str = "headrace", **options: str) -> list[Row]:
    reader = spark.read.format(format_).option("kafka.bootstrap.servers", bootstrap)
    frame = reader.options(**{"includeHeaders": "true", **options}).load()
    assert {field.name for field in frame.schema.fields} == set(COLUMNS)
    rows = [tuple(row[name] for name in COLUMNS) for row in frame.collect()]
    return sorted(rows, key=lambda row: row[:3])


def delete_records_before(bootstrap: str, topic: str, offset: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.delete_records([TopicPartition(topic, 0, offset)]).values():
        future.result()


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_it_reads_what_sparks_own_connector_reads(
    spark: Any, node: EmbeddedKafka, codec: str
) -> None:
    topic = f"same-{codec}"
    node.create_topic(topic, partitions=3)
    send(node.bootstrap_servers, topic, 500, codec=codec)
    ours = read(spark, node.bootstrap_servers, subscribe=topic)
    theirs = read(spark, node.bootstrap_servers, "kafka", subscribe=topic)
    assert len(ours) == 500
    assert ours == theirs


def test_it_reads_apache_kafka_the_same_way(spark: Any, apache: ApacheKafka) -> None:
    topic = "on-apache"
    send(apache.bootstrap, topic, 300)
    ours = read(spark, apache.bootstrap, subscribe=topic)
    assert len(ours) == 300
    assert ours == read(spark, apache.bootstrap, "kafka", subscribe=topic)


@pytest.mark.parametrize(
    "options",
    [
        {"subscribe": "range", "startingOffsets": '{"range":{"0":10,"1":-2}}'},
        {"subscribe": "range", "endingOffsets": '{"range":{"0":-1,"1":7}}'},
        {"subscribePattern": "rang.", "startingTimestamp": "1700000000120"},
        {
            "assign": '{"range":[1]}',
            "startingOffsetsByTimestamp": '{"range":{"1":1700000000100}}',
            "endingOffsetsByTimestamp": '{"range":{"1":1700000000150}}',
        },
        {"subscribe": "range", "minPartitions": "7"},
        {"subscribe": "range", "maxRecordsPerPartition": "13"},
    ],
)
def test_the_options_mean_what_they_mean_to_spark(
    spark: Any, node: EmbeddedKafka, options: dict[str, str]
) -> None:
    if "range" not in node.topics():
        node.create_topic("range", partitions=2)
        send(node.bootstrap_servers, "range", 200)
    ours = read(spark, node.bootstrap_servers, **options)
    assert 0 < len(ours) <= 200
    assert ours == read(spark, node.bootstrap_servers, "kafka", **options)


def test_committed_readers_see_no_aborted_record(spark: Any, node: EmbeddedKafka) -> None:
    node.create_topic("txn", partitions=1)
    producer = Producer(
        {"bootstrap.servers": node.bootstrap_servers, "transactional.id": "spark-test"}
    )
    producer.init_transactions()
    for number in range(9):
        producer.begin_transaction()
        for index in range(10):
            producer.produce("txn", value=f"{number}-{index}".encode())
        producer.flush()
        if number % 3 == 1:
            producer.abort_transaction()
        else:
            producer.commit_transaction()
    producer.begin_transaction()
    producer.produce("txn", value=b"open")
    producer.flush()
    committed = read(
        spark,
        node.bootstrap_servers,
        subscribe="txn",
        **{"kafka.isolation.level": "read_committed"},
    )
    everything = read(spark, node.bootstrap_servers, subscribe="txn")
    producer.abort_transaction()
    wanted = [f"{n}-{i}".encode() for n in range(9) if n % 3 != 1 for i in range(10)]
    assert [row[4] for row in committed] == wanted
    assert len(everything) == 91


def run_to_end(query_of: Callable[[Any], Any], reader: Any) -> Any:
    query = query_of(reader).trigger(availableNow=True).start()
    assert query.awaitTermination(120)
    assert query.exception() is None
    return query


def test_a_stream_goes_on_where_its_checkpoint_ended_and_finds_new_partitions(
    spark: Any, node: EmbeddedKafka, tmp_path: Path
) -> None:
    node.create_topic("stream-a", partitions=2)
    send(node.bootstrap_servers, "stream-a", 100)
    reader = (
        spark.readStream.format("headrace")
        .option("kafka.bootstrap.servers", node.bootstrap_servers)
        .option("subscribePattern", "stream-.*")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", "40")
    )
    seen: list[tuple[str, int, int]] = []
    batches: list[int] = []

    def keep(frame: Any, batch: int) -> None:
        rows = frame.select("topic", "partition", "offset").collect()
        seen.extend(tuple(row) for row in rows)
        batches.append(len(rows))

    def query_of(reader: Any) -> Any:
        writer = reader.load().writeStream.foreachBatch(keep)
        return writer.option("checkpointLocation", str(tmp_path / "checkpoint"))

    run_to_end(query_of, reader)
    assert len(seen) == 100
    assert max(batches) <= 42
    assert len(batches) >= 3
    send(node.bootstrap_servers, "stream-a", 50, first=100)
    node.create_topic("stream-b", partitions=1)
    send(node.bootstrap_servers, "stream-b", 30)
    query = run_to_end(query_of, reader)
    assert len(seen) == len(set(seen)) == 180
    last = json.loads(query.lastProgress.json)["sources"][0]
    assert sum(sum(rows.values()) for rows in last["endOffset"].values()) == 180


@pytest.mark.parametrize(
    ("case", "tasks"), [("few records", 1), ("wanted in tasks", 3), ("large records", 3)]
)
def test_a_small_batch_comes_with_its_plan_and_any_other_through_tasks(
    spark: Any, node: EmbeddedKafka, tmp_path: Path, case: str, tasks: int
) -> None:
    topic = node.topic(partitions=3)
    send(node.bootstrap_servers, topic, 300)
    if case == "large records":
        producer = Producer({"bootstrap.servers": node.bootstrap_servers})
        for partition in (0, 2):
            producer.produce(topic, value=b"v" * 600_000, partition=partition)
        producer.flush()
    options = {"includeHeaders": "true", "subscribe": topic, "startingOffsets": "earliest"}
    if case == "wanted in tasks":
        options["minPartitions"] = "3"
    reader = spark.readStream.format("headrace").options(**options)
    reader = reader.option("kafka.bootstrap.servers", node.bootstrap_servers)
    seen: list[Row] = []
    counts: list[int] = []

    def keep(frame: Any, batch: int) -> None:
        counts.append(frame.rdd.getNumPartitions())
        seen.extend(tuple(row[name] for name in COLUMNS) for row in frame.collect())

    def query_of(reader: Any) -> Any:
        writer = reader.load().writeStream.foreachBatch(keep)
        return writer.option("checkpointLocation", str(tmp_path / "checkpoint"))

    query = run_to_end(query_of, reader)
    theirs = read(spark, node.bootstrap_servers, "kafka", subscribe=topic)
    assert sorted(seen, key=lambda row: row[:3]) == theirs
    assert counts == [tasks]
    assert json.loads(query.lastProgress.json)["sources"][0]["latestOffset"] is not None


def test_what_retention_took_fails_the_query_or_is_passed_over(
    spark: Any, node: EmbeddedKafka
) -> None:
    node.create_topic("lost", partitions=1)
    send(node.bootstrap_servers, "lost", 100)
    delete_records_before(node.bootstrap_servers, "lost", 60)
    options = {"subscribe": "lost", "startingOffsets": '{"lost":{"0":0}}'}
    with pytest.raises(Exception, match="failOnDataLoss=false"):
        read(spark, node.bootstrap_servers, **options)
    rows = read(spark, node.bootstrap_servers, failOnDataLoss="false", **options)
    assert [row[2] for row in rows] == list(range(60, 100))


def test_mistakes_are_told_in_one_sentence(spark: Any, node: EmbeddedKafka) -> None:
    with pytest.raises(Exception, match="No such topic or partition: nowhere"):
        read(spark, node.bootstrap_servers, subscribe="nowhere")
    with pytest.raises(Exception, match="No broker can be reached at"):
        read(spark, "127.0.0.1:1", subscribe="nowhere")
    with pytest.raises(Exception, match="There is no column nonsense"):
        (
            spark.read.format("headrace")
            .schema("nonsense string")
            .option("kafka.bootstrap.servers", node.bootstrap_servers)
            .option("subscribe", "nowhere")
            .load()
            .collect()
        )


@pytest.mark.no_second_chance
def test_a_broker_that_restarts_costs_a_stream_nothing(
    spark: Any, node: EmbeddedKafka, tmp_path: Path
) -> None:
    node.create_topic("restart", partitions=2)
    send(node.bootstrap_servers, "restart", 100)
    reader = (
        spark.readStream.format("headrace")
        .option("kafka.bootstrap.servers", node.bootstrap_servers)
        .option("subscribe", "restart")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", "30")
    )
    seen: list[tuple[int, int]] = []

    def keep(frame: Any, batch: int) -> None:
        if batch == 1:
            node.restart()
        seen.extend(tuple(row) for row in frame.select("partition", "offset").collect())

    def query_of(reader: Any) -> Any:
        writer = reader.load().writeStream.foreachBatch(keep)
        return writer.option("checkpointLocation", str(tmp_path / "checkpoint"))

    run_to_end(query_of, reader)
    assert len(seen) == len(set(seen)) == 100


@pytest.mark.no_second_chance
def test_a_first_batch_that_failed_costs_no_records_that_came_meanwhile(
    node: EmbeddedKafka,
) -> None:
    from headrace.spark.stream_source import StreamReader

    node.create_topic("first", partitions=1)
    send(node.bootstrap_servers, "first", 10)
    options = {"kafka.bootstrap.servers": node.bootstrap_servers, "subscribe": "first"}
    failed = StreamReader(options, COLUMNS)
    planned = failed.latestOffset(failed.initialOffset(), failed.getDefaultReadLimit())
    assert planned == {"first": {"0": 10}}
    failed.stop()
    send(node.bootstrap_servers, "first", 20, first=10)
    # Spark runs the batch again up to where it was planned, and goes on from there.
    again = StreamReader(options, COLUMNS)
    assert again.partitions(again.initialOffset(), planned) == []
    following = again.latestOffset(planned, again.getDefaultReadLimit())
    (task,) = again.partitions(planned, following)
    assert task.value is not None
    assert [(work.start, work.end) for work in task.value] == [(10, 30)]
    again.stop()
