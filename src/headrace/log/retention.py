"""Deleting old segments: by time, by size, and below the log start.

Segments go from the oldest on, whole, and never with an offset at or above the high watermark.
The active one goes only if all go; it is rolled first, so that there is always one to write to.
"""

import contextlib
import os
from collections.abc import Callable, Iterable
from typing import NamedTuple

from headrace.log.errors import LogDirFailure
from headrace.log.file_names import DELETED, SEGMENT_KINDS, SNAPSHOT, file_name
from headrace.log.log_state import LogState
from headrace.log.segment import Segment

_Breach = Callable[[Segment, Segment | None], bool]


class Deletion(NamedTuple):
    """Segments that went, and why."""

    segments: int
    size: int
    reason: str


def retain(log: LogState, now_ms: int, high_watermark: int) -> list[Deletion]:
    """Delete what the settings no longer keep."""
    start = f"before the log start offset {log.log_start_offset}"
    deletions = _delete_while(log, _below_log_start(log), start, now_ms, high_watermark)
    if log.config.delete:
        size = f"over retention.bytes={log.config.retention_bytes}"
        deletions += _delete_while(log, _over_size(log), size, now_ms, high_watermark)
        age = f"older than retention.ms={log.config.retention_ms}"
        deletions += _delete_while(log, _over_age(log, now_ms), age, now_ms, high_watermark)
    return deletions


def _below_log_start(log: LogState) -> _Breach:
    def breached(_: Segment, following: Segment | None) -> bool:
        return following is not None and following.base_offset <= log.log_start_offset

    return breached


def _over_size(log: LogState) -> _Breach:
    excess = log.size_bytes - log.config.retention_bytes if log.config.retention_bytes >= 0 else -1

    def breached(segment: Segment, _: Segment | None) -> bool:
        nonlocal excess
        if excess < segment.size:
            return False
        excess -= segment.size
        return True

    return breached


def _over_age(log: LogState, now_ms: int) -> _Breach:
    retention_ms = log.config.retention_ms

    def breached(segment: Segment, _: Segment | None) -> bool:
        if retention_ms < 0 or now_ms - segment.largest_timestamp() <= retention_ms:
            return False
        # Nothing protects an index from a bad disk, and what is deleted for its word is gone.
        return now_ms - segment.first_timestamp() > retention_ms

    return breached


def _delete_while(
    log: LogState, breached: _Breach, reason: str, now_ms: int, high_watermark: int
) -> list[Deletion]:
    segments = list(log.segments)
    deletable: list[Segment] = []
    for index, segment in enumerate(segments):
        following = segments[index + 1] if index + 1 < len(segments) else None
        if following is None and segment.size == 0:
            break
        end = following.base_offset if following is not None else log.log_end_offset
        if high_watermark < end or not breached(segment, following):
            break
        deletable.append(segment)
    if not deletable:
        return []
    if len(deletable) == len(segments):
        try:
            log.roll(now_ms)
        except LogDirFailure as failure:
            # A disk without room for a new segment gets some from the older ones.
            if not failure.passes or len(deletable) == 1:
                raise
            deletable.pop()
    size = sum(segment.size for segment in deletable)
    first_kept = log.segments[len(deletable)]
    advance_log_start(log, first_kept.base_offset)
    delete_segments(log, deletable, now_ms)
    return [Deletion(len(deletable), size, reason)]


def advance_log_start(log: LogState, offset: int) -> None:
    """Nothing below `offset` is readable any more. Writes nothing: it may be to make room."""
    if offset <= log.log_start_offset:
        return
    log.log_start_offset = offset
    log.leader_epochs.truncate_from_start(offset)
    log.producers.forget_replicated(offset)


def delete_segments(log: LogState, segments: list[Segment], now_ms: int) -> None:
    """Take segments out of the log; their files go after `file.delete.delay.ms`."""
    due_ms = now_ms + log.config.file_delete_delay_ms
    log.directory_unsynced = True
    for segment in segments:
        retire_segment(log, segment, due_ms)
        # Not before: what the disk refused to rename is tried again, as it is below the log start.
        log.segments.remove(segment)
        retire_snapshot(log, segment.base_offset, due_ms)


def retire_segment(log: LogState, segment: Segment, due_ms: int) -> None:
    """Rename a segment's files out of the way."""
    segment.close()
    segment.rename(segment.suffix + DELETED)
    log.pending_deletes += [(due_ms, segment.path(kind)) for kind in SEGMENT_KINDS]


def retire_snapshot(log: LogState, offset: int, due_ms: int) -> None:
    """Do the same with the producer snapshot of a segment that is gone."""
    producers = log.producers
    if offset not in producers.snapshots:
        return
    producers.snapshots.remove(offset)
    producers.unsynced_snapshots.discard(offset)
    path = os.path.join(log.directory, file_name(offset, SNAPSHOT, DELETED))
    os.rename(producers.snapshot_path(offset), path)
    log.pending_deletes.append((due_ms, path))


def remove_files(paths: Iterable[str]) -> None:
    """Unlink files, which takes a disk its time if they are large. Raises OSError."""
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
