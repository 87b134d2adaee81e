"""A Spark driver with Spark's own Kafka connector, as a program: takes steps, prints what it read.

Steps are a JSON list on the command line. `read` prints the rows of a batch query; `write` sends
rows in a batch query; `copy` runs a streaming query from topics to a topic, either for what is
there now or until the program is killed. Run apart from the tests, so that it can be killed, and
so that what it imports stays out of theirs.
"""

import base64
import json
import sys
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

Step = dict[str, Any]

_ROW_SCHEMA = (
    "topic string, partition int, key binary, value binary, "
    "headers array<struct<key: string, value: binary>>"
)


def main(jars: str, steps: list[Step]) -> None:
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", jars)
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    for step in steps:
        print(json.dumps(_DO[step["do"]](session, step)), flush=True)
    session.stop()


def _read(session: SparkSession, step: Step) -> object:
    frame = session.read.format("kafka").options(**step["options"]).load()
    found = frame.selectExpr("*", "unix_millis(timestamp) AS timestamp_ms").collect()
    return sorted(_plain(row) for row in found)


def _plain(row: Row) -> list[object]:
    """Topic, partition, offset, timestamp, key, value, headers."""
    headers = row["headers"] if "headers" in row.asDict() else None
    return [
        row["topic"],
        row["partition"],
        row["offset"],
        row["timestamp_ms"],
        _text(row["key"]),
        _text(row["value"]),
        [[one["key"], _text(one["value"])] for one in headers or ()],
    ]


def _write(session: SparkSession, step: Step) -> object:
    rows = [
        (topic, partition, _bytes(key), _bytes(value), [(name, _bytes(it)) for name, it in headers])
        for topic, partition, key, value, headers in step["rows"]
    ]
    frame = session.createDataFrame(rows, _ROW_SCHEMA)
    frame.write.format("kafka").options(**step["options"]).save()
    return len(rows)


def _copy(session: SparkSession, step: Step) -> object:
    frame: DataFrame = session.readStream.format("kafka").options(**step["options"]).load()
    writer = (
        frame.select("key", "value", "partition")
        .writeStream.format("kafka")
        .options(**step["sink"])
        .option("checkpointLocation", step["checkpoint"])
    )
    if step["available_now"]:
        query = writer.trigger(availableNow=True).start()
    else:
        query = writer.trigger(processingTime="100 milliseconds").start()
    query.awaitTermination()
    return sum(int(progress["numInputRows"]) for progress in query.recentProgress)


def _text(value: bytearray | None) -> str | None:
    return None if value is None else base64.b64encode(value).decode()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


_DO = {"read": _read, "write": _write, "copy": _copy}

if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
