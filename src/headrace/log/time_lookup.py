"""Offsets by time. The index gets near, headers get to the batch, and the batch is opened.

Headers are read where the log is (see `time_search`). To open a batch takes its bytes alone and may
take long, so that is a step of its own, to be done anywhere. A header need not be true, so a search
goes on behind a batch that does not have what it promised.
"""

from dataclasses import dataclass
from typing import NamedTuple

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records.batch import MAGIC_V2, BatchHeader, check_batch
from headrace.records.codecs import DEFAULT_LIMIT, Codec
from headrace.records.legacy import read_any_header, read_message
from headrace.records.reader import unpack_records
from headrace.records.record_times import iter_times

#: A batch is small if it has no more than this, both packed and unpacked: a millisecond or two.
SMALL_BYTES = 256 * 1024
_FEW_RECORDS = 2_000


class TimestampOffset(NamedTuple):
    """A record found by time."""

    timestamp: int
    offset: int
    leader_epoch: int  # -1 if the batch does not say


@dataclass(frozen=True, slots=True)
class Candidate:
    """A batch that should hold the record which is looked for."""

    timestamp: int
    start_offset: int
    #: The batch; empty if one step of the search did not find any.
    data: bytes

    @property
    def is_small(self) -> bool:
        """Whether it may be tried to open it within `SMALL_BYTES`, on an event loop."""
        if len(self.data) > SMALL_BYTES:
            return False
        if not self.data:
            return True
        header = read_any_header(self.data)
        # The header of an old message does not tell how many others are packed inside.
        is_countable = header.magic == MAGIC_V2 or header.codec == Codec.NONE
        return is_countable and header.record_count <= _FEW_RECORDS


def open_candidate(candidate: Candidate, limit: int = DEFAULT_LIMIT) -> TimestampOffset | None:
    """The first record in a batch that is new enough.

    Raises MESSAGE_TOO_LARGE for a batch that unpacks to more than `limit` bytes, if that is less
    than is allowed elsewhere.
    """
    if not candidate.data:
        return None
    header = read_any_header(candidate.data)
    try:
        if header.magic == MAGIC_V2:
            return _first_in_batch(candidate, header, limit)
        for record in read_message(candidate.data, limit=limit):
            if record.timestamp >= candidate.timestamp and record.offset >= candidate.start_offset:
                return TimestampOffset(record.timestamp, record.offset, header.leader_epoch)
    except KafkaError as error:
        if error.code is ErrorCode.MESSAGE_TOO_LARGE and limit < DEFAULT_LIMIT:
            raise
        return unopened(candidate)
    return None


def unopened(candidate: Candidate) -> TimestampOffset:
    """A batch that cannot be opened stands for its first record: readers find out by themselves."""
    header = read_any_header(candidate.data)
    offset = max(header.base_offset, candidate.start_offset)
    return TimestampOffset(header.max_timestamp, offset, header.leader_epoch)


def _first_in_batch(
    candidate: Candidate, header: BatchHeader, limit: int
) -> TimestampOffset | None:
    check_batch(candidate.data, 0, header)
    records = unpack_records(candidate.data, 0, header, limit=limit)
    for offset, timestamp in iter_times(records, header):
        if timestamp >= candidate.timestamp and offset >= candidate.start_offset:
            return TimestampOffset(timestamp, offset, header.leader_epoch)
    return None
