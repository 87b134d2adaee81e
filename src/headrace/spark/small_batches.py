"""A micro-batch of a few records travels with its plan, without a task's Python worker.

Planning happens in a Python process that stays, has its connections and knows the offsets. To read
a handful of records there takes a millisecond or two; to hand the same work to a worker takes Spark
a good twenty, most of what a small batch costs. Spark has a way for it, made for readers without
partitions: rows that come back with the plan are kept as a block, which the batch's only task
reads. Where the block is lost with its machine, that task reads from the brokers like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import datasource_internal
from pyspark.sql.datasource import DataSourceStreamReader

from headrace.spark.options import SourceOptions
from headrace.spark.source import RangePartition, read_range

if TYPE_CHECKING:
    import pyarrow as pa

#: The kind of reader that PySpark asks for rows. The name is its own affair: where a later PySpark
#: has none, tasks read everything.
RowCarrier: Any = getattr(datasource_internal, "_SimpleStreamReaderWrapper", DataSourceStreamReader)

#: Above this the copy through Spark's block store costs more than a worker.
_RECORDS_MAX = 2_000
_BYTES_MAX = 1024 * 1024
#: They are read one after the other.
_PARTITIONS_MAX = 8


def one_task(tasks: Sequence[RangePartition]) -> RangePartition:
    """All the work in one partition."""
    return RangePartition(*(work for task in tasks for work in task.value or ()))


def read_small(
    options: SourceOptions, tasks: Sequence[RangePartition], names: Sequence[str]
) -> list[pa.RecordBatch] | None:
    """The rows of all tasks, or None if they are many, or the user wants them in many tasks."""
    wants_tasks = (options.min_partitions, options.max_records_per_partition) != (None, None)
    if RowCarrier is DataSourceStreamReader or not tasks or wants_tasks:
        return None
    whole = one_task(tasks)
    if len(tasks) > _PARTITIONS_MAX:
        return None
    if sum(work.size for work in whole.value or ()) > _RECORDS_MAX:
        return None
    batches = []
    size = 0
    for batch in read_range(options.read, whole, names):
        size += batch.nbytes
        if size > _BYTES_MAX:
            return None
        batches.append(batch)
    return batches
