"""The batch reader behind `format("headrace")`, and what tasks of all its queries do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from headrace.client.blocking import KafkaClient
from headrace.spark.cluster_offsets import ClusterOffsets
from headrace.spark.errors import OptionError
from headrace.spark.kept_clients import kept_client
from headrace.spark.offsets import Offsets
from headrace.spark.options import ReadSettings, SourceOptions
from headrace.spark.planning import OffsetRange, ranges_between, split_ranges
from headrace.spark.range_reads import RangeReader

if TYPE_CHECKING:
    import pyarrow as pa


class RangePartition(InputPartition):
    """The work of one task: a stretch of a partition, or several small ones."""

    def __init__(self, *work: OffsetRange) -> None:
        self.value: tuple[OffsetRange, ...] | None = work


def read_range(
    settings: ReadSettings, partition: RangePartition, names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """What a task does; connections stay open for the next one in this process."""
    made = kept_client(KafkaClient, settings.kafka, lambda: KafkaClient(settings.client_config()))
    with made as client:
        # A batch without partitions has one task with nothing to do.
        for work in partition.value or ():
            yield from RangeReader(client, work, settings, names).batches()


class BatchReader(DataSourceReader):
    """Reads from the starting to the ending offsets once."""

    def __init__(self, options: Mapping[str, str], names: Sequence[str]) -> None:
        self._options = SourceOptions.parse(options, is_streaming=False)
        self._names = names

    def partitions(self) -> list[RangePartition]:
        cluster = ClusterOffsets(self._options)
        try:
            found = cluster.require_partitions()
            start = cluster.resolve(self._options.starting, found, "startingOffsets")
            end = cluster.resolve(self._options.ending, found, "endingOffsets")
        finally:
            cluster.close()
        for topic, index in sorted(end):
            first, last = start[topic, index], end[topic, index]
            if first > last:
                raise OptionError(
                    f"{topic}-{index}: the starting offset {first} lies behind the end, {last}."
                )
        return plan_tasks(self._options, start, end)

    def read(self, partition: RangePartition) -> Iterator[pa.RecordBatch]:
        return read_range(self._options.read, partition, self._names)


def plan_tasks(options: SourceOptions, start: Offsets, end: Offsets) -> list[RangePartition]:
    ranges = split_ranges(
        ranges_between(start, end),
        min_partitions=options.min_partitions,
        max_records=options.max_records_per_partition,
    )
    return [RangePartition(work) for work in ranges]
