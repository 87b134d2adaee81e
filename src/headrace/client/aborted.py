"""Which batches of a Fetch answer belong to aborted transactions.

The answer lists where aborted transactions begin; where they end is told by the markers between
the data.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.protocol.messages.fetch import AbortedTransaction
from headrace.records.batch import BatchHeader, Buffer, iter_headers
from headrace.records.control import ControlType, control_type
from headrace.records.reader import read_checked_batch
from headrace.records.record import Record


class AbortedData:
    """Which producers' data is aborted at the place where the reader stands."""

    def __init__(self, aborted: Sequence[AbortedTransaction] | None) -> None:
        self._coming = sorted((row.first_offset, row.producer_id) for row in aborted or ())
        self._active: set[int] = set()

    def holds(self, header: BatchHeader) -> bool:
        """Whether the batch with this header is to be left out."""
        self._advance(header)
        return header.is_transactional and header.producer_id in self._active

    def end(self, header: BatchHeader, marker: Record) -> None:
        """A marker: the transaction of its producer is over."""
        self._advance(header)
        if control_type(marker) is ControlType.ABORT:
            self._active.discard(header.producer_id)

    def _advance(self, header: BatchHeader) -> None:
        while self._coming and self._coming[0][0] <= header.last_offset:
            self._active.add(self._coming.pop(0)[1])


def find_aborted(buffer: Buffer, aborted: Sequence[AbortedTransaction] | None) -> frozenset[int]:
    """The base offsets of the batches that a committed reader leaves out, markers aside."""
    if not aborted:
        return frozenset()
    state = AbortedData(aborted)
    left_out = set()
    for position, header in iter_headers(buffer):
        if header.is_control:
            for marker in read_checked_batch(buffer, position, header)[:1]:
                state.end(header, marker)
        elif state.holds(header):
            left_out.add(header.base_offset)
    return frozenset(left_out)
