"""What one task of the sink does: Arrow batches in, record batches out to the leaders.

Rows go into open batches in a compiled loop; a full batch is closed, compressed and handed to an
outlet. The plain outlet stamps it with the task's own producer id and sends it; the one of
exactly-once writes shares a producer with the other tasks.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, Protocol

from headrace.client.leaders import TopicPartition
from headrace.records.batch import HEADER_SIZE
from headrace.records.builder import build_batch
from headrace.records.open_batches import OpenBatches, Rows
from headrace.spark.errors import PipelineError
from headrace.spark.sink_options import SinkOptions
from headrace.spark.sink_rows import RowReader
from headrace.spark.sink_topics import TopicTable
from headrace.spark.worker_heap import settle_heap

Closed = list[tuple[TopicPartition, bytearray, int]]


class Outlet(Protocol):
    """Where closed batches go: partition, bytes and the number of records of each."""

    def send(self, batches: Closed) -> None: ...

    def flush(self) -> None: ...


class RowWriter:
    """Writes rows of any number of topics through an outlet."""

    def __init__(
        self, topics: TopicTable, options: SinkOptions, columns: list[str], outlet: Outlet
    ) -> None:
        self._options = options
        self._outlet = outlet
        self._topics = topics
        self._reader = RowReader(columns, topics.number)
        self._open = OpenBatches(0, 0)
        self._targets = 0
        self.rows_written = 0

    def write(self, batches: Iterable[Any]) -> None:
        """Write all rows of these Arrow batches and wait until they are acknowledged."""
        for batch in batches:
            if batch.num_rows:
                rows = self._reader.rows(batch, self._options.topic, time.time_ns() // 1_000_000)
                self._append(rows)
                self.rows_written += len(rows)
        self._close(self._open.filled())
        self._outlet.flush()
        settle_heap()

    def _append(self, rows: Rows) -> None:
        topics = self._topics
        if len(topics.partitions) != self._targets:
            self._make_room()
        targets, bad = rows.targets(topics.first_targets, topics.partition_counts)
        if bad >= 0:
            raise self._no_such_partition(rows, bad)
        row = 0
        while (row := self._open.append(rows, row, targets, topics.sticky)) < len(rows):
            target = int(targets[row])
            if target < 0:
                target = int(topics.sticky[-1 - target])
            if self._open.count(target):
                # Others that are nearly full go along in the same request.
                self._close(self._open.filled(self._open.capacity * 7 // 8) or [target])
                if self._open.count(target):
                    self._close([target])
            else:
                self._send_alone(rows, row, target)
                row += 1

    def _close(self, targets: list[int]) -> None:
        closed: Closed = []
        for target in targets:
            count = self._open.count(target)
            batch = self._open.close(target, self._options.codec, self._options.level)
            closed.append((self._topics.partitions[target], batch, count))
            topic = self._topics.topic_of(target)
            if int(self._topics.sticky[topic]) == target:
                self._topics.move_sticky(topic)
        if closed:
            self._outlet.send(closed)

    def _make_room(self) -> None:
        """Topics came up: begin with batches that fit in memory for all of them together."""
        self._close(self._open.filled())
        self._targets = len(self._topics.partitions)
        self._open = OpenBatches(self._targets, self._options.capacity(self._targets))

    def _send_alone(self, rows: Rows, row: int, target: int) -> None:
        """A record larger than a batch makes a batch of its own, as far as requests allow."""
        record = rows.record(row)
        size = len(record.key or b"") + len(record.value or b"")
        size += sum(len(name) + len(value or b"") for name, value in record.headers)
        limit = self._options.send.request_bytes_max
        topic, _ = self._topics.partitions[target]
        if size + HEADER_SIZE > limit:
            raise PipelineError(
                f"A record for topic {topic} is too large: its {size} bytes do not fit in a request"
                f" of {limit} (kafka.max.request.size)."
            )
        batch = build_batch([record], codec=self._options.codec, level=self._options.level)
        self._outlet.send([(self._topics.partitions[target], batch, 1)])

    def _no_such_partition(self, rows: Rows, row: int) -> PipelineError:
        topic = int(rows.topics[row])
        asked = int(rows.partitions[row])
        return PipelineError(
            f"Partition {'-1' if asked == -2 else asked} is not one of topic"
            f" {self._topics.names[topic]}, which has {int(self._topics.partition_counts[topic])}."
        )
