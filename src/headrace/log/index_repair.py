"""Indexes of segments that are known to be on the disk, rebuilt if they are missing or damaged.

Nothing is cut here and no checksum looked at: the data was synced, and a batch that has rotted
since is for its readers to find. Only the walk from header to header is needed.
"""

import os

from headrace.log.errors import CorruptIndexError, CorruptSnapshotError
from headrace.log.producer_rebuild import apply_batch, replay
from headrace.log.producer_snapshot import snapshot_offsets
from headrace.log.producer_state import ProducerStates
from headrace.log.scan import scan_headers
from headrace.log.segment import Segment
from headrace.log.segments import Segments
from headrace.log.txn_index import AbortedTxn

_SCAN_CHUNK = 65536


def indexes_are_sound(segment: Segment) -> bool:
    return _positions_are_sound(segment) and _aborts_are_sound(segment)


def repair_indexes(directory: str, segments: Segments, segment: Segment, interval: int) -> None:
    """Rebuild what cannot be right."""
    aborts_are_sound = _aborts_are_sound(segment)
    if not _positions_are_sound(segment):
        segment.rebuild_indexes(interval)
    if not aborts_are_sound:
        _rebuild_aborts(directory, segments, segment)


def _positions_are_sound(segment: Segment) -> bool:
    try:
        segment.offset_index.check(segment.size)
        segment.time_index.check()
    except CorruptIndexError:
        return False
    return True


def _aborts_are_sound(segment: Segment) -> bool:
    try:
        segment.txn_index.check()
    except CorruptIndexError:
        return False
    return True


def _rebuild_aborts(directory: str, segments: Segments, segment: Segment) -> None:
    """Replay producers up to the segment, then collect the aborts that end in it."""
    producers = ProducerStates(directory)
    for offset in reversed(snapshot_offsets(directory)):
        if offset <= segment.base_offset:
            try:
                producers.restore_snapshot(offset)
            except CorruptSnapshotError:
                continue
            break
    start = producers.end_offset
    replay(producers, segments.from_offset(start), start, segment.base_offset)
    segment.txn_index.reset()
    for aborted in _aborts_in(producers, segment):
        segment.txn_index.append(aborted)


def _aborts_in(producers: ProducerStates, segment: Segment) -> list[AbortedTxn]:
    found = []
    fd = segment.fd()
    for position, header in scan_headers(fd, 0, segment.size, _SCAN_CHUNK):
        if header.producer_id >= 0:
            data = os.pread(fd, header.size, position) if header.is_control else b""
            aborted = apply_batch(producers, data, 0, header)
            if aborted is not None:
                found.append(aborted)
    return found
