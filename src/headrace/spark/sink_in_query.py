"""Writes a stream's rows as a step of its query: what `to_topic` does without exactly-once.

A sink in Python costs Spark two more Python processes to ask in each micro-batch, one before the
tasks and one after them, for a writer that has nothing to say there. As the query's last step the
same writing costs neither; Spark's sink that does nothing ends the query. The promise is the plain
sink's: a batch is finished when every task's records are acknowledged, and a task that Spark runs
again writes again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from headrace.spark.sink_options import SinkOptions

if TYPE_CHECKING:
    import pyarrow as pa


def write_in_query(df: Any, options: SinkOptions, columns: list[str]) -> Any:
    """A DataStreamWriter whose batches write the rows of the stream."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Loaded in the worker: the driver plans without Numba.
        from headrace.spark.sink_plain import write_plain

        write_plain(options, columns, batches)
        return iter(())

    return df.mapInArrow(write, "written long").writeStream.format("noop")
