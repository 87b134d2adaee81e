"""Cutting a log at its end: a follower that left the leader's log, or one that starts anew."""

from headrace.log.log_state import LogState
from headrace.log.producer_rebuild import rebuild_producers
from headrace.log.segment import Segment


def truncate_to(log: LogState, offset: int, now_ms: int) -> bool:
    """Drop the batch that holds `offset` and everything after it; False if there is nothing."""
    if offset >= log.log_end_offset:
        # Kafka notes an epoch when its leader begins. In a directory that it wrote, a leader that
        # never wrote has left an entry at the log end.
        log.leader_epochs.truncate_from_end(log.log_end_offset)
        return False
    if offset < log.segments[0].base_offset:
        truncate_fully_at(log, offset, now_ms)
        return True
    log.truncations += 1
    # From the last to the first, so that a crash in between leaves a log without a hole.
    for segment in reversed(list(log.segments)):
        if segment.base_offset <= offset:
            break
        _drop(log, segment)
    log.active = log.segments.active
    # Half a batch cannot stay: the log then ends where that batch began.
    offset = log.active.truncate_to(offset)
    log.log_end_offset = offset
    log.recovery_point = min(log.recovery_point, offset)
    log.log_start_offset = min(log.log_start_offset, offset)
    log.leader_epochs.truncate_from_end(offset)
    log.directory_unsynced = True
    rebuild_producers(log, now_ms)
    return True


def truncate_fully_at(
    log: LogState, offset: int, now_ms: int, log_start_offset: int | None = None
) -> None:
    """Drop everything and go on at `offset`."""
    log.truncations += 1
    for segment in reversed(list(log.segments)):
        _drop(log, segment)
    log.active = Segment.create(log.files, log.directory, offset, now_ms)
    log.segments.add(log.active)
    log.log_end_offset = offset
    log.log_start_offset = offset if log_start_offset is None else log_start_offset
    log.recovery_point = min(log.recovery_point, offset)
    log.leader_epochs.clear()
    log.producers.reset(offset)
    log.directory_unsynced = True


def _drop(log: LogState, segment: Segment) -> None:
    log.segments.remove(segment)
    segment.delete_files()
    log.producers.delete_snapshot(segment.base_offset)
