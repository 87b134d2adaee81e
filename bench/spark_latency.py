"""How long a record takes through a streaming query, from topic to topic."""

import statistics
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer

from headrace.spark import to_topic
from headrace.testing import EmbeddedKafka

_WARM_UP = 20


def measure_latency(
    spark: Any, node: EmbeddedKafka, count: int, rounds: int, directory: Path
) -> dict[str, list[float]]:
    """Milliseconds (p50 of each round) with either format as source and sink."""
    figures: dict[str, list[float]] = {"headrace": [], "kafka": []}
    for number in range(rounds):
        for form in figures:
            topics = (f"in-{form}-{number}", f"out-{form}-{number}")
            for topic in topics:
                node.create_topic(topic, partitions=1)
            query = _copy(spark, node, form, topics, directory)
            try:
                latencies = _ping(node, topics, count)
            finally:
                query.stop()
            figures[form].append(statistics.median(latencies[_WARM_UP:]) * 1000)
    return figures


def _copy(
    spark: Any, node: EmbeddedKafka, form: str, topics: tuple[str, str], directory: Path
) -> Any:
    bootstrap = node.bootstrap_servers
    tuned = {"kafka.fetch.max.wait.ms": "5"} if form == "kafka" else {}
    stream = (
        spark.readStream.format(form)
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topics[0])
        .option("startingOffsets", "earliest")
        .options(**tuned)
        .load()
    )
    rows = stream.select("key", "value")
    checkpoint = str(directory / topics[1])
    if form == "headrace":
        writer = to_topic(rows, topic=topics[1], bootstrap=bootstrap, checkpoint=checkpoint)
    else:
        writer = rows.writeStream.format(form).option("topic", topics[1])
        writer = writer.option("kafka.bootstrap.servers", bootstrap)
        writer = writer.option("checkpointLocation", checkpoint)
    return writer.start()


def _ping(node: EmbeddedKafka, topics: tuple[str, str], count: int) -> list[float]:
    """Send records one by one, each when the last has come out, with a pause of changing length."""
    bootstrap = node.bootstrap_servers
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"latency-{topics[1]}",
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 50,
        }
    )
    consumer.subscribe([topics[1]])
    latencies = []
    for number in range(count + _WARM_UP):
        started = time.perf_counter()
        producer.produce(topics[0], value=str(number).encode())
        producer.flush()
        deadline = started + 60
        while True:
            message = consumer.poll(1.0)
            if message is not None and message.error() is None:
                assert message.value() == str(number).encode()
                break
            assert time.perf_counter() < deadline, "nothing came out of the query"
        latencies.append(time.perf_counter() - started)
        time.sleep(0.013 * (number % 7))
    consumer.close()
    return latencies
