"""The readers behind `format("headrace")`: what Spark calls to plan and to read."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from headrace.client.blocking import KafkaClient
from headrace.client.leaders import TopicPartition
from headrace.spark.cluster_offsets import ClusterOffsets
from headrace.spark.errors import DataLossError
from headrace.spark.offsets import OffsetJson, Offsets, from_json, to_json
from headrace.spark.options import ReadSettings, SourceOptions
from headrace.spark.planning import OffsetRange, limit_offsets, ranges_between, split_ranges
from headrace.spark.range_reads import RangeReader

if TYPE_CHECKING:
    import pyarrow as pa

#: Clients of this process by their settings: a worker reads one batch after the other.
_clients: dict[tuple[tuple[str, str], ...], KafkaClient] = {}


class RangePartition(InputPartition):
    """The work of one task."""

    def __init__(self, work: OffsetRange) -> None:
        self.value: OffsetRange | None = work


def read_range(
    settings: ReadSettings, partition: RangePartition, names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """What a task does; connections stay open for the next one in this process."""
    if partition.value is None:
        return iter(())  # a batch without partitions has one task with nothing to do
    key = tuple(sorted(settings.kafka.items()))
    client = _clients.get(key)
    if client is None:
        client = _clients[key] = KafkaClient(settings.client_config())
    return RangeReader(client, partition.value, settings, names).batches()


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
        return _tasks(self._options, start, end)

    def read(self, partition: RangePartition) -> Iterator[pa.RecordBatch]:
        return read_range(self._options.read, partition, self._names)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans one micro-batch after the other; offsets are `{"topic": {"0": 12}}`."""

    def __init__(self, options: Mapping[str, str], names: Sequence[str]) -> None:
        self._options = SourceOptions.parse(options, is_streaming=True)
        self._names = names
        self._cluster: ClusterOffsets | None = None
        #: Where an AvailableNow run ends.
        self._final: dict[TopicPartition, int] | None = None
        self._latest: dict[TopicPartition, int] = {}
        self._last_batch_at = time.monotonic()

    def __getstate__(self) -> dict[str, Any]:
        """Executors get the settings; the connection stays on the driver."""
        return {**self.__dict__, "_cluster": None}

    # ---------------------------------------------------------------- on the driver

    def initialOffset(self) -> OffsetJson:  # noqa: N802 - Spark's name
        found = self._offsets.require_partitions()
        return to_json(self._offsets.resolve(self._options.starting, found, "startingOffsets"))

    def getDefaultReadLimit(self) -> Any:  # noqa: N802 - Spark's name
        if self._options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.max_offsets_per_trigger)
        if self._options.min_offsets_per_trigger is not None:
            return ReadMinRows(self._options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def latestOffset(self, start: OffsetJson, limit: Any) -> OffsetJson:  # noqa: N802
        if self._options.pause_file is not None and os.path.exists(self._options.pause_file):
            return start
        known = from_json(start)
        latest = self._find_latest(known)
        if isinstance(limit, ReadAllAvailable):
            return to_json(latest)
        begin = self._begin(known, latest)
        if self._should_wait(begin, latest):
            return start
        if isinstance(limit, ReadMaxRows):
            latest = limit_offsets(begin, latest, limit.max_rows)
        self._last_batch_at = time.monotonic()
        return to_json(latest)

    def reportLatestOffset(self) -> OffsetJson | None:  # noqa: N802 - Spark's name
        return to_json(self._latest) if self._latest else None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self._final = self._offsets.latest(self._offsets.partitions())

    def partitions(self, start: OffsetJson, end: OffsetJson) -> list[RangePartition]:
        known, until = from_json(start), from_json(end)
        begin = self._begin(known, until)
        self._check_complete(known, begin, until)
        return _tasks(self._options, begin, until)

    def stop(self) -> None:
        if self._cluster is not None:
            self._cluster.close()

    # ---------------------------------------------------------------- on executors

    def read(self, partition: RangePartition) -> Iterator[pa.RecordBatch]:
        return read_range(self._options.read, partition, self._names)

    # ---------------------------------------------------------------- planning

    @property
    def _offsets(self) -> ClusterOffsets:
        if self._cluster is None:
            self._cluster = ClusterOffsets(self._options)
        return self._cluster

    def _find_latest(self, known: Offsets) -> dict[TopicPartition, int]:
        """The ends of all partitions, never before where the query already was."""
        if self._final is not None:
            ends = dict(self._final)
        else:
            ends = self._offsets.latest(self._offsets.partitions())
        self._latest = dict(ends)
        for key, offset in known.items():
            if key not in ends:
                self._lost(f"{key[0]}-{key[1]} is gone")
            elif ends[key] < offset:
                self._lost(f"{key[0]}-{key[1]} ends at {ends[key]}, before offset {offset}")
                ends[key] = offset
        return ends

    def _begin(self, known: Offsets, until: Offsets) -> dict[TopicPartition, int]:
        """Where to go on; partitions that are new to the query begin at their first record."""
        new = [key for key in until if key not in known]
        return {**known, **self._offsets.earliest(new)}

    def _should_wait(self, begin: Offsets, latest: Offsets) -> bool:
        """Whether fewer records wait than a batch is worth, and not for too long yet."""
        minimum = self._options.min_offsets_per_trigger
        if minimum is None or self._final is not None:
            return False
        waited_ms = (time.monotonic() - self._last_batch_at) * 1000
        waiting = sum(latest[key] - begin[key] for key in latest)
        return waiting < minimum and waited_ms < self._options.max_trigger_delay_ms

    def _check_complete(self, known: Offsets, begin: Offsets, until: Offsets) -> None:
        for key in sorted(known):
            if key not in until:
                self._lost(f"{key[0]}-{key[1]} is gone")
        for key in sorted(until):
            if until[key] < begin[key]:
                self._lost(f"{key[0]}-{key[1]} ends at {until[key]}, before offset {begin[key]}")

    def _lost(self, what: str) -> None:
        if self._options.read.fail_on_data_loss:
            raise DataLossError(
                f"{what}: records may be lost to this query. With failOnDataLoss=false it goes on"
                " with what is there."
            )


def _tasks(options: SourceOptions, start: Offsets, end: Offsets) -> list[RangePartition]:
    ranges = split_ranges(
        ranges_between(start, end),
        min_partitions=options.min_partitions,
        max_records=options.max_records_per_partition,
    )
    return [RangePartition(work) for work in ranges]
