"""Batches and logs for the tests of the log."""

from collections.abc import Generator
from pathlib import Path
from struct import pack
from typing import Any

from headrace.log.append import AppendOrigin, AppendResult
from headrace.log.config import LogConfig
from headrace.log.loading import create_log, load_log
from headrace.log.open_files import OpenFiles
from headrace.log.partition_log import PartitionLog
from headrace.log.segment import Segment
from headrace.log.swapping import DirectorySync
from headrace.log.time_lookup import TimestampOffset, open_candidate
from headrace.log.time_search import NewestSearch, Search, TimeSearch
from headrace.records.batch import iter_headers
from headrace.records.builder import build_batch
from headrace.records.legacy import iter_any_headers
from headrace.records.record import Record

NOW = 1_700_000_000_000
TOPIC_ID = bytes(range(16))
HOUR_MS = 3_600_000


def batch(
    count: int = 1,
    *,
    value: bytes = b"value",
    timestamp: int = NOW,
    base_offset: int = 0,
    leader_epoch: int = -1,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
) -> bytearray:
    """A batch of `count` records, each a millisecond newer than the one before."""
    records = [
        Record(base_offset + n, timestamp + n, b"key", b"%d " % n + value, []) for n in range(count)
    ]
    return build_batch(
        records,
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        transactional=transactional,
    )


#: What a batch of one record takes.
SIZE = len(batch(1))


def marker(
    producer_id: int,
    producer_epoch: int,
    *,
    commit: bool,
    coordinator_epoch: int = 0,
    timestamp: int = NOW,
    base_offset: int = 0,
    leader_epoch: int = -1,
) -> bytearray:
    """The control batch that ends a transaction."""
    key = pack(">hh", 0, 1 if commit else 0)
    value = pack(">hi", 0, coordinator_epoch)
    return build_batch(
        [Record(base_offset, timestamp, key, value, [])],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )


def new_log(directory: Path, **settings: Any) -> PartitionLog:
    """An empty log `t-0` in `directory`; settings are `files` and fields of `LogConfig`."""
    files = settings.pop("files", None)
    return create_log(
        str(directory / "t-0"),
        "t",
        0,
        topic_id=TOPIC_ID,
        config=LogConfig(**settings),
        files=files or OpenFiles(),
        now_ms=NOW,
    )


def aged_log(directory: Path, **settings: Any) -> PartitionLog:
    """Four segments of one record each, an hour apart, the last one active."""
    log = new_log(directory, segment_bytes=SIZE, **settings)
    for n in range(4):
        append(log, batch(1, timestamp=NOW + n * HOUR_MS), now_ms=NOW + n * HOUR_MS)
    assert log.segments.base_offsets == [0, 1, 2, 3]
    return log


def reload(
    log: PartitionLog,
    *,
    clean: bool,
    recovery_point: int | None = None,
    log_start_offset: int | None = None,
    now_ms: int = NOW,
) -> PartitionLog:
    """Open the directory of `log` a second time, as the next start of the node would."""
    return load_log(
        log.directory,
        log.topic,
        log.partition,
        config=log.config,
        files=OpenFiles(),
        now_ms=now_ms,
        clean=clean,
        recovery_point=log.recovery_point if recovery_point is None else recovery_point,
        log_start_offset=log.log_start_offset if log_start_offset is None else log_start_offset,
        producer_expiration_ms=log.producer_expiration_ms,
    )


def append(
    log: PartitionLog,
    data: bytearray,
    *,
    leader_epoch: int = 0,
    now_ms: int = NOW,
    origin: AppendOrigin = AppendOrigin.CLIENT,
) -> AppendResult:
    return log.append_as_leader(data, leader_epoch=leader_epoch, now_ms=now_ms, origin=origin)


def produce(
    log: PartitionLog,
    producer_id: int,
    sequence: int,
    count: int = 1,
    *,
    epoch: int = 0,
    transactional: bool = False,
    timestamp: int = NOW,
) -> AppendResult:
    """Append a batch of an idempotent producer."""
    return append(
        log,
        batch(
            count,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=transactional,
            timestamp=timestamp,
        ),
    )


def end_transaction(
    log: PartitionLog, producer_id: int, epoch: int, *, commit: bool, coordinator_epoch: int = 0
) -> AppendResult:
    return append(
        log,
        marker(producer_id, epoch, commit=commit, coordinator_epoch=coordinator_epoch),
        origin=AppendOrigin.COORDINATOR,
    )


def everything(log: PartitionLog) -> bytes:
    """All bytes a reader gets that goes on reading where it stopped."""
    parts = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        data = log.read(offset, 1 << 20, end_offset=log.log_end_offset)
        if not data:
            break
        parts.append(data)
        offset = [header.next_offset for _, header in iter_any_headers(data)][-1]
    return b"".join(parts)


def spans(data: bytes) -> list[tuple[int, int]]:
    """(first, last) offset of each batch in what a read returned."""
    return [(header.base_offset, header.last_offset) for _, header in iter_headers(data)]


def first_since(log: PartitionLog, timestamp: int) -> TimestampOffset | None:
    """The first record that is at least as new as that, all steps at once."""
    return searched(log, TimeSearch(timestamp))


def newest_record(log: PartitionLog) -> TimestampOffset | None:
    """The first record with the largest timestamp of all, likewise."""
    return searched(log, NewestSearch())


def searched(log: PartitionLog, search: Search) -> TimestampOffset | None:
    """What a search finds in the steps that it has not taken yet."""
    while (candidate := log.next_candidate(search)) is not None:
        found = open_candidate(candidate)
        if found is not None:
            return found
    return None


def replace_segments(log: PartitionLog, new: list[Segment], old: list[Segment]) -> None:
    """Swap compacted segments in, waiting for the disk here."""
    for sync in log.swap_segments(new, old, NOW):
        sync.run()


def finished(steps: Generator[DirectorySync, None, bool]) -> bool:
    """Whether the result of a round was swapped in, all steps at once."""
    while True:
        try:
            next(steps).run()
        except StopIteration as end:
            return bool(end.value)


def file_names(log: PartitionLog) -> list[str]:
    return sorted(path.name for path in Path(log.directory).iterdir())


def kill(log: PartitionLog) -> None:
    """Give up a log as a killed process does: nothing more is written."""
    log.close(clean=False)
