"""Reading a log file batch by batch and checking each one, for recovery and index rebuilds."""

import os
from collections.abc import Iterator

from headrace.base.errors import KafkaError
from headrace.log.scan import SMALLEST_BATCH, header_at
from headrace.log.segment import Segment
from headrace.records.batch import (
    HEADER_SIZE,
    MAGIC_POSITION,
    MAGIC_V2,
    BatchHeader,
    check_batch,
)
from headrace.records.legacy import check_message

_READ_SIZE = 1 << 20


def checked_batches(segment: Segment, start: int) -> Iterator[tuple[int, BatchHeader, bytes, int]]:
    """Yield (position, header, bytes, position in bytes) of sound batches up to the first bad one.

    What follows the last batch yielded is a torn tail, or nothing.
    """
    fd, size = segment.fd(), segment.size
    position, wanted = start, _READ_SIZE
    while position < size:
        data = os.pread(fd, min(wanted, size - position), position)
        at = 0
        wanted = _READ_SIZE
        while len(data) - at >= HEADER_SIZE or (
            len(data) - at >= SMALLEST_BATCH and data[at + MAGIC_POSITION] < MAGIC_V2
        ):
            header = header_at(data, at)
            if header is None or position + at + header.size > size:
                return
            if at + header.size > len(data):
                wanted = max(_READ_SIZE, header.size)
                break
            if not _is_sound(data, at, header):
                return
            yield position + at, header, data, at
            at += header.size
        if at == 0 and (wanted <= len(data) or position + len(data) >= size):
            return
        position += at


def _is_sound(data: bytes, at: int, header: BatchHeader) -> bool:
    check = check_batch if header.magic == MAGIC_V2 else check_message
    try:
        check(data, at, header)
    except KafkaError:
        return False
    return True


def forget_indexes(segment: Segment, start: int, start_offset: int) -> None:
    """Drop what the indexes say about batches behind the one that begins at `start`.

    That batch's own entry stays: the time index has noted everything up to it in the same breath.
    An abort at `start_offset`, where it begins, goes: who walks on from there meets its marker.
    """
    slot = segment.offset_index.floor_slot(start, 1) if start else -1
    if slot < 0:
        segment.offset_index.reset()
        segment.time_index.reset()
        segment.txn_index.reset()
        segment.indexed_position = 0
        segment.set_max_timestamp(-1, segment.base_offset)
        return
    relative, position = segment.offset_index.get(slot)
    first_dropped = segment.base_offset + relative + 1
    segment.offset_index.keep(slot + 1)
    segment.time_index.truncate_to(first_dropped)
    segment.txn_index.truncate_to(start_offset)
    segment.indexed_position = position
    segment.set_max_timestamp(*segment.time_index.last_entry())
