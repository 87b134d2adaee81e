"""From bytes of the metadata log or a snapshot to a delta: control records, transactions.

A metadata transaction (KIP-868) spreads over several batches and counts only when it ends; what it
holds is kept aside until then.
"""

from dataclasses import dataclass, field

from headrace.base.checks import InvariantBrokenError
from headrace.metadata.changes import MetadataChanges
from headrace.metadata.delta import MetadataDelta
from headrace.metadata.image import MetadataImage
from headrace.metadata.record_codec import AnyRecord, decode_record, encode_record
from headrace.metadata.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    NoOpRecord,
)
from headrace.records.batch import Buffer, check_batch, iter_headers
from headrace.records.reader import read_checked_batch
from headrace.records.record import Record

_NO_OP = encode_record(NoOpRecord())


@dataclass(slots=True)
class Transaction:
    """A metadata transaction that has begun."""

    start_offset: int
    records: list[AnyRecord] = field(default_factory=list)


class Replayer:
    """Replays batches into one delta; `apply` turns them into an image."""

    def __init__(self, image: MetadataImage, transaction: Transaction | None = None) -> None:
        self._delta = MetadataDelta(image)
        #: The transaction that is open.
        self.transaction = transaction
        self.offset = image.offset
        self.epoch = image.epoch
        self.timestamp_ms = image.timestamp_ms
        #: Control records in their order; Raft's business.
        self.control_records: list[Record] = []

    def replay_batches(self, buffer: Buffer, *, from_snapshot: bool = False) -> int:
        """Replay whole batches; returns how many bytes of `buffer` they take.

        The offsets inside a snapshot are its own, so they do not move the image's offset.
        """
        end = 0
        for position, header in iter_headers(buffer):
            check_batch(buffer, position, header)
            records = read_checked_batch(buffer, position, header)
            if header.is_control:
                self.control_records.extend(records)
            else:
                for record in records:
                    value = record.value
                    if value is None:
                        raise InvariantBrokenError(f"no metadata at offset {record.offset}")
                    if value != _NO_OP:  # Kafka writes two a second
                        self.replay(decode_record(value), record.offset)
            if not from_snapshot:
                self.offset = header.last_offset
                self.epoch = header.leader_epoch
                self.timestamp_ms = header.max_timestamp
            end = position + header.size
        return end

    def replay(self, record: AnyRecord, offset: int) -> None:
        """Replay one record."""
        transaction = self.transaction
        if isinstance(record, BeginTransactionRecord):
            if transaction is not None:
                raise InvariantBrokenError(f"a transaction inside a transaction at {offset}")
            self.transaction = Transaction(offset)
        elif isinstance(record, EndTransactionRecord | AbortTransactionRecord):
            if transaction is None:
                raise InvariantBrokenError(f"the end of no transaction at offset {offset}")
            if isinstance(record, EndTransactionRecord):
                for held in transaction.records:
                    self._delta.replay(held)
            self.transaction = None
        elif transaction is not None:
            transaction.records.append(record)
        else:
            self._delta.replay(record)

    def apply(self) -> tuple[MetadataImage, MetadataChanges]:
        """The image as of the last replayed batch."""
        return self._delta.apply(
            offset=self.offset, epoch=self.epoch, timestamp_ms=self.timestamp_ms
        )
