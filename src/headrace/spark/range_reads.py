"""Reads one range of offsets as Arrow batches: what a task of a query does.

Memory is bounded by one Fetch answer and what it unpacks to, whatever the size of the range.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from headrace.base.errors import KafkaError
from headrace.client.aborted import find_aborted
from headrace.client.blocking import KafkaClient
from headrace.client.offsets import EARLIEST, LATEST, list_offsets, require_offsets
from headrace.protocol.messages.fetch import PartitionData
from headrace.records.batch import BatchHeader, iter_headers
from headrace.records.spans import BadBatchError
from headrace.spark.errors import DataLossError, PipelineError
from headrace.spark.options import ReadSettings
from headrace.spark.planning import OffsetRange
from headrace.spark.range_fetching import RangeFetcher
from headrace.spark.worker_heap import settle_heap

if TYPE_CHECKING:
    import pyarrow as pa

    from headrace.records.column_types import Columns

logger = logging.getLogger(__name__)

#: Decompressed bytes that one Arrow batch is made of.
_UNPACKED_BYTES = 32 * 1024 * 1024


class RangeReader:
    """Reads one range; `batches` is its only use."""

    def __init__(
        self, client: KafkaClient, work: OffsetRange, settings: ReadSettings, names: Sequence[str]
    ) -> None:
        self._client = client
        self._work = work
        self._settings = settings
        self._names = names
        self._fetcher = RangeFetcher(client, work, settings)
        self._position = work.start

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The records of the range. Raises PipelineError."""
        try:
            while self._position < self._work.end:
                try:
                    data = self._fetcher.fetch(self._position)
                except KafkaError as error:
                    self._skip_lost(error)
                    continue
                for columns in self._decode(data):
                    if len(columns):
                        yield self._arrow(columns)
            settle_heap()
        finally:
            self._fetcher.close()

    def _arrow(self, columns: Columns) -> pa.RecordBatch:
        # Heavy, and needed on executors only.
        from headrace.records.columns_arrow import to_arrow

        made: dict[str, pa.Array] = {}
        if self._settings.value_reader is not None:
            from headrace.spark.registry.read_columns import ERROR, decode_values

            values = columns.values
            made["value"], made[ERROR] = decode_values(
                self._settings.value_reader, values.data, values.positions, values.lengths
            )
        work = self._work
        return to_arrow(columns, self._names, topic=work.topic, partition=work.partition, made=made)

    def _decode(self, data: PartitionData) -> Iterator[Columns]:
        """The records of one answer, in stretches of bounded size."""
        from headrace.records.columns_numba import decode

        buffer = memoryview(data.records or b"")
        aborted = (
            find_aborted(buffer, data.aborted_transactions)
            if self._settings.read_committed
            else frozenset()
        )

        def is_wanted(header: BatchHeader) -> bool:
            return not header.is_control and header.base_offset not in aborted

        while len(buffer) and self._position < self._work.end:
            try:
                columns = decode(
                    buffer,
                    start_offset=self._position,
                    end_offset=self._work.end,
                    keep=is_wanted,
                    limit=_UNPACKED_BYTES,
                )
            except BadBatchError as error:
                self._pass_over(error)
                return
            except KafkaError as error:
                raise PipelineError(f"{self._name}: {error.message}") from None
            if columns.next_offset < 0:
                self._end_of_answer(buffer)
                return
            self._position = columns.next_offset
            yield columns
            buffer = buffer[columns.consumed :]

    def _end_of_answer(self, buffer: memoryview) -> None:
        """No whole batch below the end of the range is left in the answer."""
        for _, header in iter_headers(buffer):
            # What lay between was compacted away.
            self._position = max(header.base_offset, self._position)
            return

    def _skip_lost(self, error: KafkaError) -> None:
        """The position is outside the log; go on where the log begins, or not at all."""
        key = (self._work.topic, self._work.partition)
        try:
            first = require_offsets(list_offsets(self._client, {key: EARLIEST}))[key]
            last = require_offsets(list_offsets(self._client, {key: LATEST}))[key]
        except KafkaError as failure:
            raise PipelineError(f"Offsets of {self._name}: {failure.message}") from failure
        what = f"Offset {self._position} of {self._name} is gone: its log has {first} to {last}."
        if self._settings.fail_on_data_loss:
            raise DataLossError(
                f"{what} Records were removed before the query read them (retention, or the topic"
                " was made anew); with failOnDataLoss=false the query goes on without them."
            ) from error
        logger.warning("%s The query goes on without what is missing.", what)
        self._position = first if first > self._position else self._work.end

    def _pass_over(self, error: BadBatchError) -> None:
        if self._settings.fail_on_data_loss:
            raise DataLossError(
                f"{self._name}: {error.message} With failOnDataLoss=false the query passes over"
                " what cannot be read."
            ) from None
        logger.warning("%s: %s The query passes over it.", self._name, error.message)
        self._position = error.next_offset

    @property
    def _name(self) -> str:
        return f"{self._work.topic}-{self._work.partition}"
