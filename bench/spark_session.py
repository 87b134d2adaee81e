"""A Spark for the benchmarks: its own Kafka connector beside ours, on two cores."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headrace.spark.worker_python import worker_python
from headrace.testing import EmbeddedKafka
from tests.support.spark import require_spark

#: The connector as tuned for bulk reading: larger fetches, larger polls.
TUNED_READ = {
    "kafka.max.partition.fetch.bytes": str(4 * 1024 * 1024),
    "kafka.max.poll.records": "5000",
    "kafka.fetch.max.bytes": str(50 * 1024 * 1024),
}
#: And its sink: larger batches, a little patience.
TUNED_WRITE = {"kafka.batch.size": str(256 * 1024), "kafka.linger.ms": "10"}


@contextmanager
def spark_session(directory: Path) -> Iterator[Any]:
    jars = require_spark()
    os.environ.setdefault("PYSPARK_PYTHON", worker_python(directory))
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", jars)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(directory / "warehouse"))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    try:
        yield session
    finally:
        session.stop()


def rows(spark: Any, count: int, size: int = 100, partitions: int = 4) -> Any:
    """Records with one of 1,000 keys and a value of `size` bytes that compresses a little."""
    frame = spark.range(0, count, 1, partitions)
    return frame.selectExpr(
        "CAST(CONCAT('key-', id % 1000) AS BINARY) AS key",
        f"CAST(RPAD(CONCAT(HEX(id * 2654435761), HEX(id)), {size}, 'abcdefghij') AS BINARY)"
        " AS value",
    )


def fill(spark: Any, node: EmbeddedKafka, topic: str, count: int, **options: Any) -> None:
    """Make a topic and fill it."""
    partitions, size = options.pop("partitions", 4), options.pop("size", 100)
    node.create_topic(topic, partitions=partitions)
    writer = rows(spark, count, size).write.mode("append").format("headrace").options(**options)
    writer.option("kafka.bootstrap.servers", node.bootstrap_servers).option("topic", topic).save()


def reader(spark: Any, node: EmbeddedKafka, form: str, topic: str) -> Any:
    """A batch reader of either format for a whole topic."""
    options = TUNED_READ if form == "kafka" else {}
    return (
        spark.read.format(form)
        .option("kafka.bootstrap.servers", node.bootstrap_servers)
        .option("subscribe", topic)
        .options(**options)
    )
