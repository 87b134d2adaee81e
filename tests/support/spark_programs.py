"""Programs for a Spark cluster, each the driver of its own application: `NAME JSON`.

Faults inside tasks are part of them: a task can end its own executor, or be slow enough for Spark
to start a copy of it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


def session(given: dict[str, Any]) -> Any:
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        **given["conf"],
    }
    builder = SparkSession.builder.master(given["master"])
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def ends_its_executor(flag: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The first task that comes here kills its executor in the middle of its rows."""

    def rows(batches: Iterator[Any]) -> Iterator[Any]:
        for number, batch in enumerate(batches):
            yield batch
            if number == 1 and _is_first(flag):
                os.kill(_parent(os.getppid()), signal.SIGKILL)

    return rows


def is_slow_at_first(flag: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The first attempt of partition 0 takes its time, so that Spark starts a copy."""

    def rows(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        for number, batch in enumerate(batches):
            yield batch
            if number == 1 and context.partitionId() == 0 and _is_first(flag):
                deadline = time.monotonic() + 60
                while not Path(f"{flag}.copy").exists() and time.monotonic() < deadline:
                    time.sleep(0.05)
                time.sleep(0.5)
            elif context.attemptNumber() > 0:
                Path(f"{flag}.copy").touch()

    return rows


def write(given: dict[str, Any]) -> None:
    """Numbers into a topic, in one transaction, with a fault on the way."""
    from headrace.spark.topic_output import to_topic

    spark = session(given)
    faults = {"kill": ends_its_executor, "slow": is_slow_at_first}
    fault = faults[given["fault"]](given["flag"])
    df = spark.range(0, given["count"], 1, 4).selectExpr(
        "cast(id % 20 as string) as key", "cast(id as string) as value"
    )
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "500")
    to_topic(
        df.mapInArrow(fault, df.schema),
        topic=given["topic"],
        bootstrap=given["servers"],
        exactly_once=given["exactly_once"],
        options={"kafka.batch.size": "16384"},
    )
    spark.stop()


def copy(given: dict[str, Any]) -> None:
    """A topic into another, exactly once, until the file `stop` is there."""
    from headrace.spark.topic_output import to_topic

    spark = session(given)
    events = (
        spark.readStream.format("headrace")
        .option("kafka.bootstrap.servers", given["servers"])
        .option("subscribe", given["source"])
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", "2000")
        .load()
        .select("key", "value")
    )
    writer = to_topic(
        events,
        topic=given["target"],
        bootstrap=given["servers"],
        exactly_once=True,
        group=given["group"],
        checkpoint=given["checkpoint"],
    )
    query = writer.trigger(processingTime="100 milliseconds").start()
    while not Path(given["stop"]).exists():
        if query.awaitTermination(0.2):
            break
    query.stop()
    spark.stop()


def _is_first(flag: str) -> bool:
    try:
        Path(flag).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


if __name__ == "__main__":
    {"write": write, "copy": copy}[sys.argv[1]](json.loads(sys.argv[2]))
