"""The compiled twin of `cleaner.sieve.DictSieve`, for large logs in a helper process.

A key takes 24 bytes instead of a few hundred, as in Kafka's own map, so a round reaches further.
"""

import numpy as np

from headrace.log.cleaner.sieve import Sifted, sifted
from headrace.log.cleaner.sieve_kernels import add_keys, sift_rows
from headrace.records.batch import BatchHeader, Buffer
from headrace.records.decode_kernels import walk_span
from headrace.records.walk import invalid, walk

_ENTRY_SIZE = 24
_SMALLEST_TABLE = 1024
#: Probes stay short up to here; the table is a power of two, so it is rarely this full.
_LOAD_MAX = 0.75
_NO_END = np.iinfo(np.int64).max


class TableSieve:
    """The offset map as one numpy table with open addressing."""

    __slots__ = (
        "_kept",
        "_offsets",
        "_out",
        "_places",
        "_span",
        "_table",
        "_timestamps",
        "_used",
        "_used_max",
        "latest_offset",
    )

    def __init__(self, map_bytes: int, records_max: int) -> None:
        """`records_max` bounds the number of keys there can be: the dirty part's offsets."""
        most = max(1, min(map_bytes // _ENTRY_SIZE, records_max))
        slots = _SMALLEST_TABLE
        while slots * _LOAD_MAX < most and slots * 2 * _ENTRY_SIZE <= map_bytes:
            slots *= 2
        self._table = np.zeros((slots, 3), np.uint64)
        self._used = 0
        self._used_max = max(1, min(most, int(slots * _LOAD_MAX)))
        self.latest_offset = -1
        self._span = np.empty(7, np.int64)
        self._out = np.empty(1 << 16, np.uint8)
        self._make_rows(1024)

    def __len__(self) -> int:
        return self._used

    def add(self, data: Buffer, header: BatchHeader, start_offset: int) -> bool:
        rows = self._walk(data, header)
        self._used, latest, full = add_keys(
            np.frombuffer(data, np.uint8),
            self._offsets,
            self._places,
            rows,
            start_offset,
            self._table,
            self._used,
            self._used_max,
        )
        self.latest_offset = max(self.latest_offset, latest)
        return not full

    def sift(
        self, data: Buffer, header: BatchHeader, *, drop_tombstones: bool, horizon_ms: int
    ) -> Sifted:
        rows = self._walk(data, header)
        if len(data) > len(self._out):
            self._out = np.empty(2 * len(data), np.uint8)
        kept, size, newest, keyless, tombstones = sift_rows(
            np.frombuffer(data, np.uint8),
            self._offsets,
            self._timestamps,
            self._places,
            rows,
            self._table,
            self.latest_offset,
            drop_tombstones,
            self._kept,
            self._out,
        )
        if tombstones and not header.has_delete_horizon:
            plain = bytes(data)
            found = walk(plain, 0, len(plain), header)
            staying = [row for row, stays in zip(found, self._kept, strict=False) if stays]
            return sifted(plain, header, found, staying, keyless, horizon_ms)
        if kept == rows:
            return Sifted(kept, None, header.max_timestamp, keyless)
        return Sifted(kept, self._out[:size].tobytes(), newest, keyless)

    def _walk(self, data: Buffer, header: BatchHeader) -> int:
        """Fill the columns with the records of a batch, and return how many there are."""
        if header.record_count > len(self._offsets):
            self._make_rows(header.record_count)
        by_append = header.uses_append_time
        self._span[:] = (
            0,
            len(data),
            header.record_count,
            header.base_offset,
            header.last_offset_delta,
            header.max_timestamp if by_append else header.base_timestamp,
            by_append,
        )
        rows = walk_span(
            np.frombuffer(data, np.uint8),
            self._span,
            0,
            _NO_END,
            self._offsets,
            self._timestamps,
            self._places,
            0,
        )
        if rows < 0:
            raise invalid("a record is malformed")
        return int(rows)

    def _make_rows(self, count: int) -> None:
        self._offsets = np.empty(count, np.int64)
        self._timestamps = np.empty(count, np.int64)
        self._places = np.empty((6, count), np.int32)
        self._kept = np.empty(count, np.bool_)
