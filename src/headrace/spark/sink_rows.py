"""Arrow columns of a batch of rows as the arrays that `records.open_batches` takes.

Nothing is copied but lengths: keys and values stay in Arrow's buffers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.records.open_batches import NOT_GIVEN, Blobs, Int64s, Rows
from headrace.spark.errors import PipelineError

_NO_BYTES = np.frombuffer(b"", np.uint8)
#: Stands for a partition of -1, which would otherwise read as not given.
_IMPOSSIBLE = -2


class RowReader:
    """Reads record batches of one schema; topics get their numbers from the caller."""

    def __init__(self, columns: list[str], topic_number: Callable[[str], int]) -> None:
        self._columns = columns
        self._topic_number = topic_number

    def rows(self, batch: Any, topic: str | None, now_ms: int) -> Rows:
        """The rows of a pyarrow RecordBatch; `topic` stands for the column of that name."""
        found = {name.lower(): batch.column(index) for index, name in enumerate(batch.schema.names)}
        count = batch.num_rows
        names, values, starts, counts = self._headers(found, count)
        return Rows(
            topics=self._topics(found, topic, count),
            partitions=self._partitions(found, count),
            timestamps=self._timestamps(found, count, now_ms),
            keys=blobs(found["key"]) if "key" in self._columns else _nulls(count),
            values=blobs(found["value"]),
            headers=starts,
            header_counts=counts,
            header_names=names,
            header_values=values,
        )

    def _topics(self, found: dict[str, Any], topic: str | None, count: int) -> Int64s:
        if topic is not None:
            return np.full(count, self._topic_number(topic), np.int64)
        coded = found["topic"].dictionary_encode()
        if coded.null_count:
            raise PipelineError(
                "A row has no topic: its column topic is null; set the option topic for all rows,"
                " or fill the column."
            )
        numbers = [self._topic_number(name) for name in coded.dictionary.to_pylist()]
        topics: Int64s = np.array(numbers, np.int64)[coded.indices.to_numpy()]
        return topics

    def _partitions(self, found: dict[str, Any], count: int) -> Int64s:
        if "partition" not in self._columns:
            return np.full(count, NOT_GIVEN, np.int64)
        column = found["partition"]
        given: Int64s = column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        given[given == NOT_GIVEN] = _IMPOSSIBLE
        if column.null_count:
            given[~_valid(column)] = NOT_GIVEN
        return given

    def _timestamps(self, found: dict[str, Any], count: int, now_ms: int) -> Int64s:
        if "timestamp" not in self._columns:
            return np.full(count, now_ms, np.int64)
        column = found["timestamp"].cast(pa.timestamp("us", found["timestamp"].type.tz))
        micros = column.view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        millis: Int64s = micros // 1000
        if column.null_count:
            millis[~_valid(column)] = now_ms
        return millis

    def _headers(self, found: dict[str, Any], count: int) -> tuple[Blobs, Blobs, Int64s, Int64s]:
        none = np.zeros(count, np.int64)
        if "headers" not in self._columns:
            return _nulls(0), _nulls(0), none, none
        column = found["headers"]
        offsets = _offsets(column)
        counts = np.diff(offsets)
        if column.null_count:
            counts[~_valid(column)] = 0
        entries = column.values
        names, values = blobs(entries.field(0)), blobs(entries.field(1))
        if entries.null_count or (len(names.lengths) and int(names.lengths.min()) < 0):
            raise PipelineError("A header of a record has no key: it must not be null.")
        return names, values, offsets[:-1].copy(), counts


def blobs(column: Any) -> Blobs:
    """A string or binary column where it lies."""
    if not _has_offsets(column.type):
        column = column.cast(pa.large_binary())
    if len(column) == 0:
        return _nulls(0)
    data = column.buffers()[2]
    offsets = _offsets(column)
    lengths = np.diff(offsets)
    if column.null_count:
        lengths[~_valid(column)] = -1
    return Blobs(
        _NO_BYTES if data is None else np.frombuffer(data, np.uint8), offsets[:-1], lengths
    )


def _has_offsets(kind: Any) -> bool:
    tests = (
        pa.types.is_string,
        pa.types.is_binary,
        pa.types.is_large_string,
        pa.types.is_large_binary,
    )
    return any(test(kind) for test in tests)


def _offsets(column: Any) -> Int64s:
    """Where each entry begins, and where the last ends."""
    kind = column.type
    large = (
        pa.types.is_large_string(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_large_list(kind)
    )
    all_offsets: npt.NDArray[Any] = np.frombuffer(
        column.buffers()[1], np.int64 if large else np.int32
    )
    return all_offsets[column.offset : column.offset + len(column) + 1].astype(np.int64)


def _valid(column: Any) -> npt.NDArray[np.bool_]:
    valid: npt.NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    return valid


def _nulls(count: int) -> Blobs:
    return Blobs(_NO_BYTES, np.zeros(count, np.int64), np.full(count, -1, np.int64))
