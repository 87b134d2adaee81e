"""The producers of one log: idempotence, open transactions, and where committed data ends.

The log asks `check` before it writes a batch and tells `apply` afterwards; reading batches back
after a restart is `apply` alone, for what is in the log has been checked once.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from headrace.base.errors import ErrorCode, KafkaError
from headrace.log.append import AppendOrigin
from headrace.log.producer_entry import NO_TRANSACTION, ProducedBatch, ProducerEntry
from headrace.records.batch import TRANSACTIONAL_FLAG, BatchHeader


class EndTxnMarker(NamedTuple):
    """What a transaction's control record says."""

    commit: bool
    coordinator_epoch: int


class CompletedTxn(NamedTuple):
    """A transaction that a marker ended."""

    producer_id: int
    first_offset: int
    last_offset: int
    aborted: bool


class ProducerTable:
    """All producer ids with state in one log."""

    __slots__ = ("_entries", "_ongoing", "_unreplicated", "end_offset")

    def __init__(self) -> None:
        self._entries: dict[int, ProducerEntry] = {}
        #: First offset of each open transaction -> producer id.
        self._ongoing: dict[int, int] = {}
        #: First offset -> marker's offset of ended transactions whose marker is not replicated.
        self._unreplicated: dict[int, int] = {}
        #: The state reflects the log up to here.
        self.end_offset = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[ProducerEntry]:
        return iter(self._entries.values())

    def get(self, producer_id: int) -> ProducerEntry | None:
        return self._entries.get(producer_id)

    # Appending

    def check(self, header: BatchHeader, origin: AppendOrigin) -> ProducedBatch | None:
        """Raise if a data batch may not be appended; return the original if it is a retry."""
        entry = self._entries.get(header.producer_id)
        # With no state (new, expired or deleted), any epoch and sequence is taken, as in Kafka.
        if entry is None or entry.is_continued_by(header) or origin == AppendOrigin.REPLICATION:
            return None
        if origin == AppendOrigin.CLIENT:
            duplicate = entry.duplicate_of(header)
            if duplicate is not None:
                return duplicate
        entry.check_data(header, origin)
        return None

    def check_marker(
        self, header: BatchHeader, marker: EndTxnMarker, transaction_version: int
    ) -> None:
        """Raise if a transaction marker may not be appended."""
        entry = self._entries.get(header.producer_id)
        if entry is None:
            return
        entry.check_epoch(header.producer_epoch, transaction_version)
        if marker.coordinator_epoch < entry.coordinator_epoch:
            raise KafkaError(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"Coordinator epoch {marker.coordinator_epoch} for producer"
                f" {header.producer_id} is older than {entry.coordinator_epoch}.",
            )

    def apply(self, header: BatchHeader, base_offset: int, timestamp: int) -> None:
        """Note a data batch that is in the log now."""
        producer_id = header.producer_id
        entry = self._entries.get(producer_id)
        if entry is None:
            entry = self._entries[producer_id] = ProducerEntry(producer_id)
        entry.add_batch(header, base_offset, timestamp)
        is_transactional = header.attributes & TRANSACTIONAL_FLAG
        if is_transactional and entry.txn_first_offset == NO_TRANSACTION:
            entry.txn_first_offset = base_offset
            self._ongoing[base_offset] = producer_id

    def apply_marker(
        self, header: BatchHeader, marker: EndTxnMarker, offset: int, timestamp: int
    ) -> CompletedTxn | None:
        """Note a marker that is in the log now; `complete` has to follow if a transaction ended."""
        entry = self._entries.get(header.producer_id)
        if entry is None:
            entry = self._entries[header.producer_id] = ProducerEntry(header.producer_id)
        first_offset = entry.txn_first_offset
        entry.set_epoch(header.producer_epoch)
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.last_timestamp = timestamp
        entry.txn_first_offset = NO_TRANSACTION
        # A marker without data before it moves no last stable offset and needs no index entry.
        if first_offset == NO_TRANSACTION:
            return None
        return CompletedTxn(header.producer_id, first_offset, offset, not marker.commit)

    def last_stable_offset_after(self, completed: CompletedTxn) -> int:
        """The last stable offset once this transaction counts as ended."""
        others = [
            first for first, producer in self._ongoing.items() if producer != completed.producer_id
        ]
        return min(others, default=completed.last_offset + 1)

    def complete(self, completed: CompletedTxn) -> None:
        """Move a transaction from the open ones to those that wait for the high watermark."""
        self._ongoing.pop(completed.first_offset, None)
        self._unreplicated[completed.first_offset] = completed.last_offset

    def saved(self, producer_ids: Iterable[int]) -> dict[int, ProducerEntry | None]:
        """Copies to `restore` if an append of several batches fails half way."""
        entries = ((id_, self._entries.get(id_)) for id_ in producer_ids)
        return {id_: entry.copy() if entry is not None else None for id_, entry in entries}

    def restore(self, saved: dict[int, ProducerEntry | None]) -> None:
        for producer_id, entry in saved.items():
            if entry is None:
                self._entries.pop(producer_id, None)
            else:
                self._entries[producer_id] = entry
        self._index_ongoing()

    # Committed data

    def first_unstable_offset(self, high_watermark: int) -> int | None:
        """The first offset of a transaction that is open, or ended beyond the high watermark."""
        if self._unreplicated:
            self.forget_replicated(high_watermark)
        elif not self._ongoing:
            return None
        firsts = [*self._ongoing, *self._unreplicated]
        return min(firsts) if firsts else None

    def forget_replicated(self, high_watermark: int) -> None:
        done = [first for first, last in self._unreplicated.items() if last < high_watermark]
        for first in done:
            del self._unreplicated[first]

    def remove_expired(self, now_ms: int, expiration_ms: int) -> int:
        """Forget producers idle for `producer.id.expiration.ms`, but never an open transaction."""
        expired = [
            entry.producer_id
            for entry in self._entries.values()
            if entry.txn_first_offset == NO_TRANSACTION
            and now_ms - entry.last_timestamp >= expiration_ms
        ]
        for producer_id in expired:
            del self._entries[producer_id]
        return len(expired)

    def clear(self) -> None:
        self._entries.clear()
        self._ongoing.clear()
        self._unreplicated.clear()

    def _index_ongoing(self) -> None:
        self._ongoing = {
            entry.txn_first_offset: entry.producer_id
            for entry in self._entries.values()
            if entry.txn_first_offset != NO_TRANSACTION
        }
