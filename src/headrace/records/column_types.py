"""Records as columns: what `records.columns` and its compiled twin take and give."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from headrace.records.batch import BatchHeader, Buffer
from headrace.records.codecs import Codec
from headrace.records.reader import read_headers
from headrace.records.record import Header, Record


class Ints(Protocol):
    """A column of numbers: array.array here, a numpy array from the compiled walker."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> int: ...


@dataclass(slots=True)
class Slices:
    """A column of byte strings inside `data`; length -1 is null. Positions are 32-bit."""

    data: Buffer
    positions: Ints
    lengths: Ints

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, row: int) -> bytes | None:
        length = self.lengths[row]
        start = self.positions[row]
        return None if length < 0 else bytes(self.data[start : start + length])


@dataclass(slots=True)
class Columns:
    """Records as columns; row i of each column is record i.

    `headers` holds each record's headers as they are encoded (count, then names and values); a
    length below 1 stands for none when encoding. `batches[i]` gave the rows from `batch_rows[i]`
    up to `batch_rows[i + 1]` (one more entry than batches): producer ids, flags and epochs are
    looked up there.
    """

    offsets: Ints
    timestamps: Ints
    keys: Slices
    values: Slices
    headers: Slices
    batches: Sequence[BatchHeader] = ()
    batch_rows: Sequence[int] = (0,)
    consumed: int = 0  # bytes of the buffer that were decoded or passed over
    next_offset: int = -1  # where the next decode goes on; -1 if no whole batch was there

    def __len__(self) -> int:
        return len(self.offsets)

    def record(self, row: int) -> Record:
        """One row as a record, for tools and tests."""
        return Record(
            int(self.offsets[row]),
            int(self.timestamps[row]),
            self.keys[row],
            self.values[row],
            self.record_headers(row),
        )

    def record_headers(self, row: int) -> list[Header]:
        if self.headers.lengths[row] <= 1:
            return []
        return read_headers(self.headers.data, self.headers.positions[row])


@dataclass(frozen=True, slots=True)
class BatchFields:
    """What a batch says besides its records."""

    codec: int = Codec.NONE
    level: int | None = None
    leader_epoch: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    transactional: bool = False
