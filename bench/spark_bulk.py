"""Bulk work in Spark: reading and writing topics, ours and Spark's connector in turn."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.spark_session import TUNED_WRITE, fill, reader, rows
from headrace.testing import EmbeddedKafka

Figures = dict[str, dict[str, list[float]]]

#: Ours first, then the peer; they take turns.
FORMS = ("headrace", "kafka")


def measure_reads(
    spark: Any, node: EmbeddedKafka, codec: str, count: int, rounds: int
) -> dict[str, list[float]]:
    """Records per second of reading a whole topic of 100-byte values, everything looked at."""
    topic = f"read-{codec}"
    fill(spark, node, topic, count, **{"kafka.compression.type": codec})

    def read(form: str) -> None:
        frame = reader(spark, node, form, topic).load()
        found = frame.selectExpr("COUNT(*)", "SUM(LENGTH(value) + LENGTH(key))", "MAX(offset)")
        assert found.collect()[0][0] == count

    figures = take_turns(read, count, rounds)
    node.delete_topic(topic)
    return figures


def measure_writes(
    spark: Any, node: EmbeddedKafka, count: int, rounds: int
) -> dict[str, list[float]]:
    """Records per second of writing 100-byte values to four partitions."""
    frame = rows(spark, count).persist()
    frame.count()
    made: list[str] = []

    def write(form: str) -> None:
        topic = f"write-{len(made)}"
        made.append(topic)
        node.create_topic(topic, partitions=4)
        options = TUNED_WRITE if form == "kafka" else {}
        writer = frame.write.mode("append").format(form).options(**options).option("topic", topic)
        writer.option("kafka.bootstrap.servers", node.bootstrap_servers).save()

    figures = take_turns(write, count, rounds)
    frame.unpersist()
    node.delete_topic(*made)
    return figures


def measure_exactly_once(
    spark: Any, node: EmbeddedKafka, count: int, rounds: int, directory: Path
) -> dict[str, list[float]]:
    """Records per second through one streaming batch: exactly once, and our plain sink."""
    from headrace.spark.topic_output import to_topic

    fill(spark, node, "eo-in", count)
    made: list[str] = []

    def copy(kind: str) -> None:
        topic = f"eo-out-{len(made)}"
        made.append(topic)
        node.create_topic(topic, partitions=4)
        stream = (
            spark.readStream.format("headrace")
            .option("kafka.bootstrap.servers", node.bootstrap_servers)
            .option("subscribe", "eo-in")
            .option("startingOffsets", "earliest")
            .load()
        )
        writer = to_topic(
            stream.select("key", "value"),
            topic=topic,
            bootstrap=node.bootstrap_servers,
            exactly_once=kind == "exactly once",
            group=topic,
        )
        checkpoint = str(directory / topic)
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()
        assert query.exception() is None

    figures = take_turns(copy, count, rounds, ("exactly once", "at least once"))
    node.delete_topic("eo-in", *made)
    return figures


def measure_growth(
    spark: Any, node: EmbeddedKafka, count: int, rounds: int
) -> dict[int, dict[str, list[float]]]:
    """Records per second of the same records in more and more partitions."""
    figures = {}
    for partitions in (1, 4, 16, 64):
        topic = f"growth-{partitions}"
        fill(spark, node, topic, count, partitions=partitions)

        def read(form: str, topic: str = topic) -> None:
            frame = reader(spark, node, form, topic).load()
            assert frame.selectExpr("COUNT(*)", "MAX(offset)").collect()[0][0] == count

        figures[partitions] = take_turns(read, count, rounds)
        node.delete_topic(topic)
    return figures


def take_turns(
    work: Callable[[str], None], count: int, rounds: int, kinds: tuple[str, ...] = FORMS
) -> dict[str, list[float]]:
    """Records per second of each kind; the first round warms up and does not count."""
    figures: dict[str, list[float]] = {kind: [] for kind in kinds}
    for number in range(rounds + 1):
        for kind in kinds:
            started = time.perf_counter()
            work(kind)
            if number > 0:
                figures[kind].append(count / (time.perf_counter() - started))
    return figures
