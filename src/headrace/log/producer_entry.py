"""What a log remembers of one producer id: epoch, last batches, an open transaction."""

from collections import deque
from struct import Struct
from typing import NamedTuple

from headrace.base.errors import ErrorCode, KafkaError
from headrace.log.append import AppendOrigin
from headrace.records.batch import SEQUENCE_LIMIT, TRANSACTIONAL_FLAG, BatchHeader

#: As many as a producer may have in flight and so may send again.
BATCHES_REMEMBERED = 5
NO_EPOCH = -1
EPOCH_MAX = 2**15 - 1
NO_TRANSACTION = -1

SNAPSHOT_ENTRY = Struct(">qhiqiqiq")


class ProducedBatch(NamedTuple):
    """A batch as far as duplicate detection needs it."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int


class ProducerEntry:
    """One producer id in one log."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "epoch",
        "last_timestamp",
        "producer_id",
        "txn_first_offset",
    )

    def __init__(self, producer_id: int) -> None:
        self.producer_id = producer_id
        self.epoch = NO_EPOCH
        self.coordinator_epoch = -1
        self.last_timestamp = -1
        self.txn_first_offset = NO_TRANSACTION
        self.batches: deque[ProducedBatch] = deque(maxlen=BATCHES_REMEMBERED)

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else -1

    @property
    def last_offset(self) -> int:
        return self.batches[-1].last_offset if self.batches else -1

    def copy(self) -> "ProducerEntry":
        twin = ProducerEntry(self.producer_id)
        twin.epoch = self.epoch
        twin.coordinator_epoch = self.coordinator_epoch
        twin.last_timestamp = self.last_timestamp
        twin.txn_first_offset = self.txn_first_offset
        twin.batches.extend(self.batches)
        return twin

    def is_in_transaction(self, epoch: int) -> bool:
        """True if a transaction of this epoch has records here, and is still open."""
        return epoch == self.epoch and self.txn_first_offset != NO_TRANSACTION

    def is_continued_by(self, header: BatchHeader) -> bool:
        """True if a batch goes on where the last one ended: no retry, and nothing wrong with it.

        Nearly every batch does, so this is asked before all that could be the matter.
        """
        return (
            header.producer_epoch == self.epoch
            and len(self.batches) > 0
            and header.base_sequence == self.batches[-1].last_sequence + 1
            and (
                self.txn_first_offset == NO_TRANSACTION
                or header.attributes & TRANSACTIONAL_FLAG != 0
            )
        )

    def duplicate_of(self, header: BatchHeader) -> ProducedBatch | None:
        """The batch that this one is a retry of."""
        if header.producer_epoch != self.epoch:
            return None
        first = header.base_sequence
        for batch in self.batches:
            if batch.first_sequence == first and batch.last_sequence == header.last_sequence:
                return batch
        return None

    def check_epoch(self, epoch: int, transaction_version: int = 0) -> None:
        """A zombie's epoch is refused; a version 2 marker must bring a new one (KIP-890)."""
        if epoch > self.epoch or (epoch == self.epoch and transaction_version < 2):
            return
        is_same_marker = self.txn_first_offset == NO_TRANSACTION or epoch == EPOCH_MAX
        if epoch == self.epoch and is_same_marker:
            return  # the transaction has ended already, or there is no higher epoch to end it
        raise KafkaError(
            ErrorCode.INVALID_PRODUCER_EPOCH,
            f"Epoch {epoch} of producer {self.producer_id} is older than {self.epoch}.",
        )

    def check_sequence(self, header: BatchHeader) -> None:
        """The next sequence number, or 0 for a new epoch; anything goes if nothing is known."""
        first = header.base_sequence
        if header.producer_epoch != self.epoch:
            if first == 0 or self.epoch == NO_EPOCH:
                return
            expected = 0
        else:
            expected = (self.last_sequence + 1) % SEQUENCE_LIMIT
            if first == expected or self.epoch == NO_EPOCH:
                return
        raise KafkaError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"Out of order sequence number for producer {self.producer_id}:"
            f" {first} (incoming), {expected} (expected).",
        )

    def check_data(self, header: BatchHeader, origin: AppendOrigin) -> None:
        """Everything a data batch of this producer has to satisfy."""
        self.check_epoch(header.producer_epoch)
        if origin == AppendOrigin.CLIENT:
            self.check_sequence(header)
        if self.txn_first_offset != NO_TRANSACTION and not header.is_transactional:
            raise KafkaError(
                ErrorCode.INVALID_TXN_STATE,
                f"Expected transactional write from producer {self.producer_id}.",
            )

    def add_batch(self, header: BatchHeader, base_offset: int, timestamp: int) -> None:
        """Remember a data batch that is in the log now."""
        if header.producer_epoch != self.epoch:
            self.set_epoch(header.producer_epoch)
        last_offset = base_offset + header.last_offset_delta
        self.batches.append(
            ProducedBatch(
                header.base_sequence, header.last_sequence, base_offset, last_offset, timestamp
            )
        )
        self.last_timestamp = timestamp

    def set_epoch(self, epoch: int) -> None:
        if epoch != self.epoch:
            self.batches.clear()
            self.epoch = epoch

    def pack(self) -> bytes:
        """The entry as a snapshot holds it: of the batches, only the last."""
        last = self.batches[-1] if self.batches else None
        return SNAPSHOT_ENTRY.pack(
            self.producer_id,
            self.epoch,
            last.last_sequence if last else -1,
            last.last_offset if last else -1,
            last.last_offset - last.first_offset if last else 0,
            self.last_timestamp,
            self.coordinator_epoch,
            self.txn_first_offset,
        )


def entry_from_snapshot(fields: tuple[int, ...]) -> ProducerEntry:
    """The opposite of `ProducerEntry.pack`."""
    producer_id, epoch, sequence, offset, delta, timestamp, coordinator_epoch, txn_first = fields
    entry = ProducerEntry(producer_id)
    entry.epoch = epoch
    entry.coordinator_epoch = coordinator_epoch
    entry.last_timestamp = timestamp
    entry.txn_first_offset = txn_first if txn_first >= 0 else NO_TRANSACTION
    if offset >= 0:
        first = (sequence - delta) % SEQUENCE_LIMIT if sequence >= 0 else sequence
        entry.batches.append(ProducedBatch(first, sequence, offset - delta, offset, timestamp))
    return entry
