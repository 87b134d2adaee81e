"""The streaming reader behind `format("headrace")`: plans one micro-batch after the other."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from headrace.client.leaders import TopicPartition
from headrace.client.offsets import LATEST
from headrace.spark.cluster_offsets import ClusterOffsets
from headrace.spark.errors import DataLossError
from headrace.spark.initial_offsets import recall, remember
from headrace.spark.offsets import OffsetJson, Offsets, from_json, to_json
from headrace.spark.options import SourceOptions
from headrace.spark.planning import limit_offsets
from headrace.spark.small_batches import RowCarrier, one_task, read_small
from headrace.spark.source import RangePartition, plan_tasks, read_range

if TYPE_CHECKING:
    import pyarrow as pa

logger = logging.getLogger(__name__)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans one micro-batch after the other; offsets are `{"topic": {"0": 12}}`."""

    def __init__(self, options: Mapping[str, str], names: Sequence[str]) -> None:
        self._options = SourceOptions.parse(options, is_streaming=True)
        self._names = names
        self._cluster: ClusterOffsets | None = None
        #: Where the first batch begins, if this run has worked it out.
        self._initial: dict[TopicPartition, int] | None = None
        #: Where an AvailableNow run ends.
        self._final: dict[TopicPartition, int] | None = None
        self._latest: dict[TopicPartition, int] = {}
        self._last_batch_at = time.monotonic()
        #: Of a batch so small that it was read while it was planned.
        self._rows: list[pa.RecordBatch] = []

    def __getstate__(self) -> dict[str, Any]:
        """Executors get the settings; the connection stays on the driver."""
        return {**self.__dict__, "_cluster": None}

    # ---------------------------------------------------------------- on the driver

    def initialOffset(self) -> OffsetJson:  # noqa: N802 - Spark's name
        found = self._offsets.require_partitions()
        self._initial = recall(self._options)
        if self._initial is None:
            self._initial = self._offsets.resolve(self._options.starting, found, "startingOffsets")
            remember(self._options, self._initial)
        return to_json(self._initial)

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
        if known == self._initial:
            begin = self._before_end(begin, until)
        self._check_complete(known, begin, until)
        tasks = plan_tasks(self._options, begin, until)
        rows = read_small(self._options, tasks, self._names)
        return tasks if rows is None else self._hand_over(tasks, rows)

    def stop(self) -> None:
        if self._cluster is not None:
            self._cluster.close()

    # ---------------------------------------------------------------- on executors

    def read(self, partition: RangePartition) -> Iterator[pa.RecordBatch]:
        return read_range(self._options.read, partition, self._names)

    # ---------------------------------------------------------------- planning

    def _hand_over(
        self, tasks: list[RangePartition], rows: list[pa.RecordBatch]
    ) -> list[RangePartition]:
        """Let PySpark find the rows with the plan: it asks only readers of its own kind for them.

        So the reader is one for that question, which comes next, and itself again afterwards.
        """
        self._rows = rows
        self.__class__ = _ReaderWithRows
        return [one_task(tasks)]

    @property
    def _offsets(self) -> ClusterOffsets:
        if self._cluster is None:
            self._cluster = ClusterOffsets(self._options)
        return self._cluster

    def _find_latest(self, known: Offsets) -> dict[TopicPartition, int]:
        """The ends of all partitions; one that went back means lost records."""
        if self._final is not None:
            ends = dict(self._final)
        else:
            ends = self._offsets.latest(self._offsets.still_there(known))
        self._latest = dict(ends)
        for key, offset in known.items():
            if key not in ends:
                self._lost(f"{key[0]}-{key[1]} is gone")
            elif ends[key] < offset:
                self._lost(f"{key[0]}-{key[1]} ends at {ends[key]}, before offset {offset}")
        return ends

    def _begin(self, known: Offsets, until: Offsets) -> dict[TopicPartition, int]:
        """Where to go on; partitions that are new to the query begin at their first record."""
        new = [key for key in until if key not in known]
        return {**known, **self._offsets.earliest(new)}

    def _before_end(self, begin: Offsets, until: Offsets) -> dict[TopicPartition, int]:
        """Where a first batch begins that was planned by an earlier run.

        A checkpoint has only the end of it. A query that starts at the end of its topics finds that
        end further on by now; what lies between belongs to the batches that follow.
        """
        spec = self._options.starting
        return {
            key: min(offset, until.get(key, offset))
            if spec.latest_if_none or spec.offsets.get(key, spec.everywhere) == LATEST
            else offset
            for key, offset in begin.items()
        }

    def _should_wait(self, begin: Offsets, latest: Offsets) -> bool:
        """Whether fewer records wait than a batch is worth, and not for too long yet."""
        minimum = self._options.min_offsets_per_trigger
        if minimum is None or self._final is not None:
            return False
        waited_ms = (time.monotonic() - self._last_batch_at) * 1000
        waiting = sum(max(latest[key] - begin[key], 0) for key in latest)
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
        logger.warning("%s: the query goes on with what is there.", what)


class _ReaderWithRows(StreamReader, RowCarrier):
    """A reader that has just read a small batch."""

    def getCache(self, start: OffsetJson, end: OffsetJson) -> Iterator[pa.RecordBatch]:  # noqa: N802
        self.__class__ = StreamReader
        rows, self._rows = self._rows, []
        return iter(rows)
