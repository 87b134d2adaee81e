"""Offsets by time. The index gets near, headers get to the batch, and one batch is opened."""

import os
from typing import NamedTuple

from headrace.base.errors import KafkaError
from headrace.log.scan import scan_headers
from headrace.log.segment import Segment
from headrace.log.segments import Segments
from headrace.records.batch import MAGIC_V2, BatchHeader
from headrace.records.legacy import read_message
from headrace.records.reader import read_batch


class TimestampOffset(NamedTuple):
    """A record found by time."""

    timestamp: int
    offset: int
    leader_epoch: int  # -1 if the batch does not say


def find_by_timestamp(
    segments: Segments, timestamp: int, start_offset: int
) -> TimestampOffset | None:
    """The first record at or after `start_offset` that is at least as new as `timestamp`."""
    for segment in segments:
        if segment.size and segment.largest_timestamp() >= timestamp:
            found = _find_in_segment(segment, timestamp, start_offset)
            if found is not None:
                return found
    return None


def find_max_timestamp(segments: Segments, start_offset: int) -> TimestampOffset | None:
    """The first record with the largest timestamp."""
    best: Segment | None = None
    largest = -1
    for segment in segments:
        timestamp, _ = segment.max_timestamp_and_offset()
        if timestamp > largest:
            best, largest = segment, timestamp
    if best is None:
        return None
    _, offset = best.max_timestamp_and_offset()
    start = best.start_before(offset)
    for position, header in scan_headers(best.fd(), start, best.size):
        if header.max_timestamp == largest:
            return first_record_at(best, position, header, largest, start_offset)
    return None


def _find_in_segment(segment: Segment, timestamp: int, start_offset: int) -> TimestampOffset | None:
    near = max(segment.time_index.lookup(timestamp), start_offset)
    start = segment.start_before(near)
    for position, header in scan_headers(segment.fd(), start, segment.size):
        if header.max_timestamp >= timestamp and header.last_offset >= start_offset:
            found = first_record_at(segment, position, header, timestamp, start_offset)
            if found is not None:
                return found
    return None


def first_record_at(
    segment: Segment, position: int, header: BatchHeader, timestamp: int, start_offset: int
) -> TimestampOffset | None:
    """Open one batch and find its first record that is new enough.

    A batch that cannot be opened stands for its first record: a reader will find out by itself.
    """
    data = os.pread(segment.fd(), header.size, position)
    epoch = header.leader_epoch
    try:
        records = (read_batch if header.magic == MAGIC_V2 else read_message)(data)
    except KafkaError:
        return TimestampOffset(header.max_timestamp, max(header.base_offset, start_offset), epoch)
    for record in records:
        if record.timestamp >= timestamp and record.offset >= start_offset:
            return TimestampOffset(record.timestamp, record.offset, epoch)
    return None
