"""A driver to be killed: a stream into all four stores, whose tasks fail once after their work."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from headrace.spark.stores import postgres, redis
from headrace.spark.stores.delta import to_delta
from headrace.spark.stores.parquet import to_parquet
from headrace.spark.stores.postgres_tasks import copy_rows
from tests.support.stream_input import StreamInput, run_to_end

Work = Callable[[Iterable[Any]], Iterator[Any]]

SCHEMA = "id long, name string"


def fails_once(make: Callable[..., Work]) -> Callable[..., Work]:
    """As if the executor of the first task were lost when it had committed, but not answered."""

    def made(*arguments: Any) -> Work:
        work = make(*arguments)

        def run(batches: Iterable[Any]) -> Iterator[Any]:
            from pyspark import TaskContext

            done = list(work(batches))
            context = TaskContext.get()
            if context.partitionId() == 0 and context.attemptNumber() == 0:
                raise RuntimeError("the first attempt is lost")
            yield from done

        return run

    return made


def main() -> None:
    given = json.loads(sys.argv[1])
    from pyspark.sql import SparkSession

    spark = (
        # The second figure lets a task fail, as on a cluster.
        SparkSession.builder.master("local[2,4]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    vars(postgres)["copy_rows"] = fails_once(copy_rows)
    vars(redis)["send_rows"] = fails_once(redis.send_rows)
    out = Path(given["out"])

    def each(df: Any, _: int) -> None:
        rows = df.repartition(2).persist()
        to_parquet(rows, str(out / "parquet"))
        to_delta(rows, str(out / "delta"))
        postgres.to_postgres(rows, "killed", dsn=given["dsn"], create=True)
        redis.to_redis(rows, given["redis"], key="id", value="name")
        rows.unpersist()

    source = StreamInput(Path(given["input"]), SCHEMA).read(spark)
    try:
        run_to_end(source.writeStream.foreachBatch(each), Path(given["checkpoint"]))
    finally:
        # Or threads of py4j would keep a failed driver from ending.
        spark.stop()


if __name__ == "__main__":
    main()
