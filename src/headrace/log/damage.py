"""Whether a segment that is not as a clean stop left it was torn at its end, or damaged before it.

A torn end is cut off, and nothing is lost that anybody could read. Behind damage there may be whole
batches that were acknowledged; nobody but the operator may give those up.
"""

import os

from headrace.base.errors import ErrorCode, KafkaError
from headrace.log.batch_checks import checked_batches
from headrace.log.file_names import LOG
from headrace.log.scan import header_at
from headrace.log.segment import Segment
from headrace.records.batch import HEADER_SIZE, MAGIC_POSITION, MAGIC_V2, check_batch

#: A batch may be large, and what follows damage in a large file is not worth a look at every byte.
_LOOK_MAX = 16 << 20


def refuse_to_cut(segment: Segment) -> None:
    """Raise `KafkaError` if recovery would cut whole batches off.

    It cuts behind the last batch that is sound, from the segment's beginning on: an index that
    lies about the end does no harm.
    """
    position, next_offset = 0, segment.base_offset
    for at, header, _, _ in checked_batches(segment, 0):
        position, next_offset = at + header.size, header.next_offset
    found = _next_sound(segment, position, next_offset)
    if found >= 0:
        path = segment.path(LOG)
        raise KafkaError(
            ErrorCode.KAFKA_STORAGE_ERROR,
            f"{path} is damaged at byte {position}, and whole batches lie behind that, from byte"
            f" {found} on. If they may be lost, `truncate -s {position} {path}` cuts it there.",
        )


def _next_sound(segment: Segment, position: int, next_offset: int) -> int:
    """Where the next batch begins whose checksum is right; -1 if there is none."""
    data = os.pread(segment.fd(), min(segment.size - position, _LOOK_MAX), position)
    magic = bytes([MAGIC_V2])
    at = data.find(magic, MAGIC_POSITION)
    while at >= 0:
        if _is_sound(data, at - MAGIC_POSITION, next_offset):
            return position + at - MAGIC_POSITION
        at = data.find(magic, at + 1)
    return -1


def _is_sound(data: bytes, at: int, next_offset: int) -> bool:
    if len(data) - at < HEADER_SIZE:
        return False
    header = header_at(data, at)
    if header is None or header.base_offset < next_offset or at + header.size > len(data):
        return False
    try:
        check_batch(data, at, header)
    except KafkaError:
        return False
    return True
