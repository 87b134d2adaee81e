"""Producer state read back: the latest snapshot, then the batches behind it."""

import os
from collections.abc import Iterable

from headrace.log.log_state import LogState
from headrace.log.markers import read_marker
from headrace.log.producer_state import ProducerStates
from headrace.log.scan import scan_headers
from headrace.log.segment import Segment
from headrace.log.txn_index import AbortedTxn
from headrace.records.batch import BatchHeader, Buffer

_SCAN_CHUNK = 65536


def rebuild_producers(log: LogState, now_ms: int) -> None:
    """Make the producer state that of the log end."""
    producers = log.producers
    producers.load_snapshot(
        log.log_start_offset, log.log_end_offset, now_ms, log.producer_expiration_ms
    )
    segments = log.segments.from_offset(producers.end_offset)
    replay(producers, segments, producers.end_offset, log.log_end_offset)
    producers.take_snapshot()


def replay(
    producers: ProducerStates, segments: Iterable[Segment], start_offset: int, end_offset: int
) -> None:
    """Apply the batches between two offsets, by their headers; only markers are opened."""
    for segment in segments:
        if segment.base_offset >= end_offset:
            break
        position = segment.start_before(start_offset)
        fd = segment.fd()
        for at, header in scan_headers(fd, position, segment.size, _SCAN_CHUNK):
            if header.last_offset >= end_offset:
                break
            if header.producer_id >= 0 and header.base_offset >= start_offset:
                data = os.pread(fd, header.size, at) if header.is_control else b""
                apply_batch(producers, data, 0, header)
    producers.end_offset = end_offset


def apply_batch(
    producers: ProducerStates, data: Buffer, position: int, header: BatchHeader
) -> AbortedTxn | None:
    """Apply one batch of a producer; an aborted transaction is returned for the index."""
    if not header.is_control:
        producers.apply(header, header.base_offset, header.max_timestamp)
        return None
    marker = read_marker(data, position, header)
    if marker is None:
        return None
    offset = header.base_offset
    completed = producers.apply_marker(header, marker, offset, header.max_timestamp)
    if completed is None:
        return None
    stable = producers.last_stable_offset_after(completed)
    producers.complete(completed)
    if not completed.aborted:
        return None
    return AbortedTxn(completed.producer_id, completed.first_offset, offset, stable)
