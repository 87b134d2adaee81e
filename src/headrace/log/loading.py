"""Open a partition's directory: create it, or load what a clean stop or a crash left there."""

import os

from headrace.base.errors import KafkaError
from headrace.base.uuids import ZERO_UUID
from headrace.log.config import LogConfig
from headrace.log.damage import refuse_to_cut
from headrace.log.failed_rolls import drop_overtaken
from headrace.log.file_names import SNAPSHOT, offsets_of_kind
from headrace.log.index_repair import indexes_are_sound, repair_indexes
from headrace.log.interrupted_swaps import log_offsets, tidy_directory
from headrace.log.log_state import LogState
from headrace.log.open_files import OpenFiles
from headrace.log.partition_log import PartitionLog
from headrace.log.partition_metadata import read_topic_id, write_topic_id
from headrace.log.producer_rebuild import rebuild_producers
from headrace.log.recovery import recover_directory
from headrace.log.scan import scan_headers
from headrace.log.segment import Segment

PRODUCER_EXPIRATION_MS = 86_400_000


def create_log(
    directory: str,
    topic: str,
    partition: int,
    *,
    topic_id: bytes,
    config: LogConfig,
    files: OpenFiles,
    now_ms: int,
    start_offset: int = 0,
    producer_expiration_ms: int = PRODUCER_EXPIRATION_MS,
) -> PartitionLog:
    """A new, empty log; the directory must not exist yet. Raises OSError."""
    os.mkdir(directory)
    log = PartitionLog(
        directory,
        topic,
        partition,
        topic_id=topic_id,
        config=config,
        files=files,
        producer_expiration_ms=producer_expiration_ms,
    )
    if topic_id != ZERO_UUID:
        log.unsynced_paths.append(write_topic_id(directory, topic_id, is_new=True))
    log.log_start_offset = log.log_end_offset = log.recovery_point = start_offset
    _begin(log, start_offset, now_ms, is_new=True)
    log.last_flush_ms = now_ms
    return log


def load_log(
    directory: str,
    topic: str,
    partition: int,
    *,
    config: LogConfig,
    files: OpenFiles,
    now_ms: int,
    clean: bool,
    recovery_point: int,
    log_start_offset: int,
    producer_expiration_ms: int = PRODUCER_EXPIRATION_MS,
) -> PartitionLog:
    """Load a directory; after an unclean stop, recover it first from `recovery_point` on.

    `recovery_point` and `log_start_offset` are those of the checkpoints, 0 if they have none. A
    caller that ran `recover_directory` elsewhere passes `clean=True` and its own recovery point
    afterwards (`log.recovery_point`), since recovery syncs nothing. Raises OSError, and KafkaError
    where it would have to cut off whole batches that lie behind damage.
    """
    if not clean:
        recover_directory(
            directory,
            config,
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
            now_ms=now_ms,
            producer_expiration_ms=producer_expiration_ms,
        )
    names = tidy_directory(directory)
    log = PartitionLog(
        directory,
        topic,
        partition,
        topic_id=read_topic_id(directory) or ZERO_UUID,
        config=config,
        files=files,
        producer_expiration_ms=producer_expiration_ms,
    )
    log.producers.snapshots = offsets_of_kind(names, SNAPSHOT)
    try:
        sound_end = _load_segments(log, log_offsets(names), now_ms)
    except KafkaError:
        log.close(clean=False)
        raise
    if sound_end is not None:
        # The end is not what a clean stop wrote: the disk or somebody's hand. Recover it after all.
        log.close(clean=False)
        return load_log(
            directory,
            topic,
            partition,
            config=config,
            files=files,
            now_ms=now_ms,
            clean=False,
            recovery_point=sound_end,
            log_start_offset=log_start_offset,
            producer_expiration_ms=producer_expiration_ms,
        )
    _set_start(log, log_start_offset, now_ms)
    log.recovery_point = log.log_end_offset
    if not clean:
        log.recovery_point = min(recovery_point, log.log_end_offset)
    log.last_flush_ms = now_ms
    _load_epochs(log)
    _load_producers(log, now_ms, clean)
    return log


def _load_segments(log: LogState, base_offsets: list[int], now_ms: int) -> int | None:
    """Open all segments and find the log end; where it is sound up to, if not to its last byte."""
    for base_offset in base_offsets:
        log.segments.add(Segment.open(log.files, log.directory, base_offset, now_ms))
    for segment in log.segments:
        if not indexes_are_sound(segment):
            interval = log.config.index_interval_bytes
            repair_indexes(log.directory, log.segments, segment, interval)
    drop_overtaken(log.directory, log.segments, log.config.index_interval_bytes)
    if base_offsets:
        log.active = log.segments.active
        log.log_end_offset, end = log.active.walk_to_end()
        if end != log.active.size:
            refuse_to_cut(log.active)
            return log.log_end_offset
    return None


def _set_start(log: LogState, log_start_offset: int, now_ms: int) -> None:
    """Let the log begin where its checkpoint says, as far as there are segments for it."""
    if len(log.segments):
        log.log_start_offset = max(log_start_offset, log.segments[0].base_offset)
        if log.log_end_offset >= log_start_offset:
            return
        # Files were taken away behind our back: what is left ends before the log begins.
        for segment in log.segments:
            log.segments.remove(segment)
            segment.delete_files()
        log.leader_epochs.store()
        log.producers.reset(log_start_offset)
    log.log_start_offset = log.log_end_offset = log_start_offset
    _begin(log, log_start_offset, now_ms)


def _begin(log: LogState, offset: int, now_ms: int, *, is_new: bool = False) -> None:
    """Give a log that has no segment its first one; a new directory has nothing to clear away."""
    create = Segment.create_first if is_new else Segment.create
    log.active = create(log.files, log.directory, offset, now_ms)
    log.segments.add(log.active)
    log.producers.end_offset = offset


def _load_epochs(log: LogState) -> None:
    epochs = log.leader_epochs
    if not epochs.load() and log.size_bytes:
        for segment in log.segments:
            for _, header in scan_headers(segment.fd(), 0, segment.size, 65536):
                epochs.note(header.leader_epoch, header.base_offset)
        epochs.store()
    epochs.truncate_from_end(log.log_end_offset)
    epochs.truncate_from_start(log.log_start_offset)


def _load_producers(log: LogState, now_ms: int, clean: bool) -> None:
    producers = log.producers
    producers.remove_stray_snapshots(log.segments.base_offsets)
    if clean and not producers.snapshots:
        # A clean stop leaves a snapshot unless nothing ever had a producer id: no need to look.
        producers.end_offset = log.log_end_offset
        return
    rebuild_producers(log, now_ms)
