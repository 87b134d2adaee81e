"""Record batches under construction, one for each partition, filled from columns in bulk.

Rows are appended in their order, each to the batch of its partition, so that the order of records
with one key is kept without sorting anything. When a row does not fit, its batch is closed and
sent, and the rows go on. Memory is `targets` times `capacity` bytes, whatever the input's size.

For Spark executors: importing this costs most of a second (Numba), and no node does.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headrace.records.append_kernels import (
    COUNT,
    NOT_GIVEN,
    USED,
    append_rows,
    choose_targets,
)
from headrace.records.batch import HEADER, HEADER_SIZE, LOG_OVERHEAD, MAGIC_V2
from headrace.records.codecs import Codec, compress
from headrace.records.record import Record

Int64s = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

__all__ = ["NOT_GIVEN", "Blobs", "OpenBatches", "Rows"]


@dataclass(slots=True)
class Blobs:
    """A column of byte strings inside `data`; a length of -1 is null."""

    data: Bytes
    positions: Int64s
    lengths: Int64s

    def __getitem__(self, row: int) -> bytes | None:
        start, length = int(self.positions[row]), int(self.lengths[row])
        return None if length < 0 else self.data[start : start + length].tobytes()


@dataclass(slots=True)
class Rows:
    """Records as columns, as they come from Arrow.

    `topics` are numbers of the caller's; `partitions` has `NOT_GIVEN` where the key decides.
    Row i has `header_counts[i]` headers, those from `headers[i]` on.
    """

    topics: Int64s
    partitions: Int64s
    timestamps: Int64s
    keys: Blobs
    values: Blobs
    headers: Int64s
    header_counts: Int64s
    header_names: Blobs
    header_values: Blobs

    def __len__(self) -> int:
        return len(self.timestamps)

    def record(self, row: int) -> Record:
        """One row by itself, as the first of a batch."""
        first = int(self.headers[row])
        headers = [
            ((self.header_names[index] or b"").decode(), self.header_values[index])
            for index in range(first, first + int(self.header_counts[row]))
        ]
        return Record(0, int(self.timestamps[row]), self.keys[row], self.values[row], headers)

    def targets(self, first_targets: Int64s, partition_counts: Int64s) -> tuple[Int64s, int]:
        """Each row's target, and the first row whose partition its topic lacks (-1: none)."""
        targets = np.empty(len(self), np.int64)
        bad = choose_targets(
            self.topics,
            self.partitions,
            self.keys.data,
            self.keys.positions,
            self.keys.lengths,
            first_targets,
            partition_counts,
            targets,
        )
        return targets, bad


class OpenBatches:
    """The open batches of all targets, in one buffer."""

    def __init__(self, targets: int, capacity: int) -> None:
        """A batch has at most `capacity` bytes before compression, its header included."""
        self.capacity = capacity
        self._buffer = np.empty(targets * capacity, np.uint8)
        self._state = np.zeros((targets, 4), np.int64)

    def append(self, rows: Rows, row: int, targets: Int64s, sticky: Int64s) -> int:
        """Append rows from `row` on; returns the first that does not fit, or their number."""
        return append_rows(
            row,
            targets,
            sticky,
            rows.timestamps,
            *_parts(rows.keys),
            *_parts(rows.values),
            rows.headers,
            rows.header_counts,
            *_parts(rows.header_names),
            *_parts(rows.header_values),
            self._buffer,
            self.capacity,
            HEADER_SIZE,
            self._state,
        )

    def count(self, target: int) -> int:
        """How many records the open batch of a target has."""
        return int(self._state[target, COUNT])

    def filled(self, least_bytes: int = 1) -> list[int]:
        """The targets whose open batch has records, of so many bytes at least."""
        has = (self._state[:, COUNT] > 0) & (self._state[:, USED] >= least_bytes)
        found: list[int] = np.flatnonzero(has).tolist()
        return found

    def close(self, target: int, codec: int = Codec.NONE, level: int | None = None) -> bytearray:
        """Take out a target's batch; `stamp_producer` has still to make it whole."""
        used, count, base_timestamp, max_timestamp = self._state[target].tolist()
        self._state[target, COUNT] = 0
        start = target * self.capacity
        if codec == Codec.NONE:
            batch = bytearray(self._buffer[start : start + used].data)
        else:
            records = self._buffer[start + HEADER_SIZE : start + used].data
            batch = bytearray(HEADER_SIZE) + compress(codec, records, level)
        HEADER.pack_into(
            batch,
            0,
            0,
            len(batch) - LOG_OVERHEAD,
            -1,
            MAGIC_V2,
            0,
            codec,
            count - 1,
            base_timestamp,
            max_timestamp,
            -1,
            -1,
            -1,
            count,
        )
        return batch


def _parts(column: Blobs) -> tuple[Bytes, Int64s, Int64s]:
    return column.data, column.positions, column.lengths
