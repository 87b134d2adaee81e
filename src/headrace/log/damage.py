"""Whether a segment that is not as a clean stop left it was torn at its end, or damaged before it.

A torn end is cut off, and nothing is lost that anybody could read. Behind damage there may be whole
batches that were acknowledged; nobody but the operator may give those up.
"""

import os
import re
from contextlib import suppress

from headrace.base.errors import ErrorCode, KafkaError
from headrace.log.batch_checks import checked_batches
from headrace.log.file_names import LOG
from headrace.log.scan import header_at
from headrace.log.segment import Segment
from headrace.records.batch import HEADER_SIZE, check_batch

#: What follows damage is searched so far, and no more bytes are checked than these.
_LOOK_MAX = 4 << 20
_CHECKED_MAX = 256 << 20
#: A batch as anybody may have written it: fewer than 2^48 offsets, less than 128 MB.
_LIKELY = re.compile(rb"(?=\x00\x00.{6}[\x00-\x07].{7}\x02)", re.DOTALL)


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
    checked = 0
    for match in _LIKELY.finditer(data, 1):
        at = match.start()
        header = header_at(data, at) if len(data) - at >= HEADER_SIZE else None
        if header is None or header.base_offset < next_offset or at + header.size > len(data):
            continue
        checked += header.size
        if checked > _CHECKED_MAX:  # somebody wrote records that look like batches
            break
        with suppress(KafkaError):
            check_batch(data, at, header)
            return position + at
    return -1
