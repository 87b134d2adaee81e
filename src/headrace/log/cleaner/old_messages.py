"""Compaction of messages in the formats before 0.11, which old data directories still hold.

What is left of them stays in its format. For the sieve, which knows batches, a message or a
compressed wrapper is told as a batch of the same records. That batch counts as one that has its
delete horizon, since old messages have no place for one: their tombstones go by the age of files.
"""

from __future__ import annotations

from typing import NamedTuple

from headrace.log.cleaner.job import CleanJob, SegmentFacts
from headrace.log.cleaner.sieve import Sifted
from headrace.records.batch import DELETE_HORIZON_FLAG, BatchHeader
from headrace.records.builder import encode_records, frame_batch
from headrace.records.legacy import Thinned, read_message, thin_message
from headrace.records.walk import walk

_NS_PER_MS = 1_000_000


class OldMessage(NamedTuple):
    """The records of a message or wrapper, encoded as those of a batch."""

    data: bytes
    header: BatchHeader


def as_batch(chunk: bytes, position: int) -> OldMessage:
    """Raise `KafkaError` if the message at `position` cannot be read."""
    records = read_message(chunk, position)
    first, last = records[0].offset, records[-1].offset
    data = bytes(encode_records(records, first, 0))
    batch = frame_batch(
        data,
        base_offset=first,
        leader_epoch=-1,
        attributes=DELETE_HORIZON_FLAG,
        last_offset_delta=last - first,
        base_timestamp=0,
        max_timestamp=max(record.timestamp for record in records),
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=len(records),
    )
    return OldMessage(data, BatchHeader(batch))


def thinned(chunk: bytes, position: int, message: OldMessage, left: Sifted) -> Thinned:
    """The wrapper at `position` with nothing but what the sieve has left of it."""
    payload = bytes(left.payload or b"")
    header = message.header
    header.record_count = left.kept
    offsets = {row[0] for row in walk(payload, 0, len(payload), header)}
    return thin_message(chunk, position, offsets)


def drops_tombstones(job: CleanJob, segment: SegmentFacts) -> bool:
    """Whether old tombstones of a segment were long enough in the clean part of the log."""
    clean = [one for one in job.segments if one.base_offset < job.first_dirty_offset]
    if not clean:
        return False
    retention_ns = job.delete_retention_ms * _NS_PER_MS
    return segment.modified_ns <= clean[-1].modified_ns - retention_ns
