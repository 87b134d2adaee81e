"""The writers behind `df.write.format("headrace")` and `df.writeStream.format("headrace")`.

At least once: each task has an idempotent producer of its own, so nothing doubles within a task,
but a task that Spark runs again writes its rows again. `topic_output` has exactly-once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from headrace.spark.errors import OptionError
from headrace.spark.sink_columns import check_columns
from headrace.spark.sink_options import SinkOptions


@dataclass
class Acknowledged(WriterCommitMessage):
    """What a task has written."""

    records: int


class BatchWriter(DataSourceArrowWriter):
    """Writes the partitions of a DataFrame to topics."""

    def __init__(self, options: SinkOptions, columns: list[str]) -> None:
        self._options = options
        self._columns = columns

    def write(self, iterator: Iterator[Any]) -> Acknowledged:
        return _write(self._options, self._columns, iterator)


class StreamWriter(DataSourceStreamArrowWriter):
    """Writes every micro-batch of a query to topics; nothing is left to do when it ends."""

    def __init__(self, options: SinkOptions, columns: list[str]) -> None:
        self._options = options
        self._columns = columns

    def write(self, iterator: Iterator[Any]) -> Acknowledged:
        return _write(self._options, self._columns, iterator)

    def commit(self, messages: list[Any], batchId: int) -> None:  # noqa: N803 - Spark's name
        """All tasks' records are acknowledged already."""

    def abort(self, messages: list[Any], batchId: int) -> None:  # noqa: N803 - Spark's name
        """What was written stays: the plain sink promises at least once."""


def batch_writer(
    options: Mapping[str, str], schema: Any, *, overwrite: bool = False
) -> BatchWriter:
    """The writer of a batch query; raises OptionError for what cannot be right."""
    if overwrite:
        raise OptionError('A topic cannot be overwritten: use mode("append").')
    parsed = SinkOptions.parse(options)
    return BatchWriter(parsed, check_columns(schema, parsed.topic))


def stream_writer(options: Mapping[str, str], schema: Any) -> StreamWriter:
    """The same for a streaming query."""
    parsed = SinkOptions.parse(options)
    return StreamWriter(parsed, check_columns(schema, parsed.topic))


def _write(options: SinkOptions, columns: list[str], batches: Iterator[Any]) -> Acknowledged:
    # Loaded in the worker: the driver plans without Numba.
    from headrace.spark.sink_plain import write_plain

    return Acknowledged(write_plain(options, columns, batches))
