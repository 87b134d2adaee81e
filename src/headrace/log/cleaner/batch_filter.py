"""What compaction does to one batch: keep it, thin it out, empty it, or drop it.

Offsets never change, and neither do a batch's base offset, offset range and producer fields:
the last batch of a live producer stays even without records, for its sequence number lives there.
A tombstone stays for `delete.retention.ms` after the cleaner first met it; the time until then is
the batch's delete horizon (KIP-534): a flag, and the time in place of the base timestamp.
Messages of the formats before 0.11 stay in their format (`cleaner.old_messages`).
"""

from typing import NamedTuple

from headrace.base.errors import KafkaError
from headrace.log.cleaner.job import CleanJob, CleanStats, SegmentFacts
from headrace.log.cleaner.old_messages import as_batch, drops_tombstones, thinned
from headrace.log.cleaner.sieve import Sieve, encode_from
from headrace.log.cleaner.source import encoded_records
from headrace.log.cleaner.transactions import CleanedTransactions
from headrace.records.batch import (
    APPEND_TIME_FLAG,
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    MAGIC_V2,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    BatchHeader,
)
from headrace.records.builder import frame_batch
from headrace.records.codecs import Codec, compress
from headrace.records.reader import unpack_records
from headrace.records.walk import walk

_KEPT_WHEN_EMPTY = APPEND_TIME_FLAG | TRANSACTIONAL_FLAG | CONTROL_FLAG


class Kept(NamedTuple):
    """The bytes of a batch that stays, and what the indexes want to know of it."""

    data: bytes | bytearray | memoryview
    max_timestamp: int
    records: int
    #: If it is not that of the batch.
    last_offset: int | None = None


class BatchFilter:
    """The rules of one round."""

    __slots__ = (
        "_drops_old_tombstones",
        "_horizon_ms",
        "_job",
        "_sieve",
        "_stats",
        "_transactions",
    )

    def __init__(
        self, job: CleanJob, sieve: Sieve, transactions: CleanedTransactions, stats: CleanStats
    ) -> None:
        self._job = job
        self._sieve = sieve
        self._transactions = transactions
        self._stats = stats
        self._horizon_ms = job.now_ms + job.delete_retention_ms
        self._drops_old_tombstones = False

    def begin(self, segment: SegmentFacts) -> None:
        """The batches of this segment come next."""
        self._drops_old_tombstones = drops_tombstones(self._job, segment)

    def filter(self, chunk: bytes, position: int, header: BatchHeader) -> Kept | None:
        """What is left of the batch at `position`, which has passed its checks; None if nothing."""
        self._stats.bytes_read += header.size
        self._stats.records_read += header.record_count
        if header.attributes & CONTROL_FLAG:
            kept = self._filter_control(chunk, position, header)
        elif self._transactions.on_batch(header):
            kept = None
        elif header.magic < MAGIC_V2:
            kept = self._filter_old(chunk, position, header)
        else:
            kept = self._filter_data(chunk, position, header)
        if kept is None and self._stays_when_empty(header):
            kept = Kept(_emptied(header), header.max_timestamp, 0)
        return kept

    def _filter_control(self, chunk: bytes, position: int, header: BatchHeader) -> Kept | None:
        unneeded = self._transactions.on_control_batch(chunk, position, header)
        if header.record_count == 0:
            return None
        if unneeded:
            if not header.has_delete_horizon:
                return self._with_horizon(chunk, position, header)
            if header.base_timestamp <= self._job.now_ms:
                return None
        return _unchanged(chunk, position, header)

    def _filter_data(self, chunk: bytes, position: int, header: BatchHeader) -> Kept | None:
        if header.record_count == 0:
            return None
        expired = header.has_delete_horizon and header.base_timestamp <= self._job.now_ms
        try:
            data = encoded_records(chunk, position, header)
            left = self._sieve.sift(
                data, header, drop_tombstones=expired, horizon_ms=self._horizon_ms
            )
        except KafkaError:
            self._stats.unreadable_batches += 1
            return _unchanged(chunk, position, header)
        self._stats.keyless_records += left.keyless
        if left.payload is None:
            return _unchanged(chunk, position, header)
        if left.kept == 0:
            return None
        horizon_ms = self._horizon_ms if left.horizon_set else None
        thinned = _rebuilt(header, left.payload, left.kept, left.max_timestamp, horizon_ms)
        return Kept(thinned, left.max_timestamp, left.kept)

    def _filter_old(self, chunk: bytes, position: int, header: BatchHeader) -> Kept | None:
        """A message of an old format, or a wrapper of several."""
        try:
            message = as_batch(chunk, position)
            count = message.header.record_count
            left = self._sieve.sift(
                message.data,
                message.header,
                drop_tombstones=self._drops_old_tombstones,
                horizon_ms=self._horizon_ms,
            )
            self._stats.records_read += count - 1  # the wrapper was taken for one
            self._stats.keyless_records += left.keyless
            if left.payload is None:
                return _unchanged(chunk, position, header)._replace(records=count)
            if left.kept == 0:
                return None
            kept = thinned(chunk, position, message, left)
        except KafkaError:
            self._stats.unreadable_batches += 1
            return _unchanged(chunk, position, header)
        has_lost_its_end = kept.last_offset < header.last_offset
        if has_lost_its_end and header.next_offset == self._job.first_uncleanable_offset:
            # A wrapper cannot speak for an offset that it has lost; an empty batch can.
            return Kept(kept.data + _emptied(header), kept.max_timestamp, left.kept)
        return Kept(kept.data, kept.max_timestamp, left.kept, kept.last_offset)

    def _with_horizon(self, chunk: bytes, position: int, header: BatchHeader) -> Kept:
        """A marker nobody needs any more: readers may be half way through, so it goes later."""
        data = unpack_records(chunk, position, header)
        rows = walk(data, 0, len(data), header)
        payload = encode_from(data, header, rows, self._horizon_ms)
        batch = _rebuilt(header, payload, len(rows), header.max_timestamp, self._horizon_ms)
        return Kept(batch, header.max_timestamp, len(rows))

    def _stays_when_empty(self, header: BatchHeader) -> bool:
        # The last offset of the round must not vanish: the log would seem to end before it.
        if header.next_offset == self._job.first_uncleanable_offset:
            return True
        if not header.has_producer_id:
            return False
        last = self._job.producers.get(header.producer_id)
        if last is None:
            return False
        if last.last_data_offset >= 0:
            return header.last_offset == last.last_data_offset
        return header.is_control and header.producer_epoch == last.epoch


def _unchanged(chunk: bytes, position: int, header: BatchHeader) -> Kept:
    data = memoryview(chunk)[position : position + header.size]
    return Kept(data, header.max_timestamp, header.record_count)


def _rebuilt(
    header: BatchHeader,
    payload: bytes | bytearray,
    record_count: int,
    max_timestamp: int,
    horizon_ms: int | None,
) -> bytearray:
    attributes, base_timestamp = header.attributes, header.base_timestamp
    if horizon_ms is not None:
        attributes |= DELETE_HORIZON_FLAG
        base_timestamp = horizon_ms
    return frame_batch(
        payload if header.codec == Codec.NONE else compress(header.codec, payload),
        base_offset=header.base_offset,
        leader_epoch=header.leader_epoch,
        attributes=attributes,
        last_offset_delta=header.last_offset_delta,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        record_count=record_count,
    )


def _emptied(header: BatchHeader) -> bytearray:
    return frame_batch(
        b"",
        base_offset=header.base_offset,
        leader_epoch=header.leader_epoch,
        attributes=header.attributes & _KEPT_WHEN_EMPTY,
        last_offset_delta=header.last_offset_delta,
        base_timestamp=NO_TIMESTAMP,
        max_timestamp=header.max_timestamp,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        record_count=0,
    )
