"""Compacted logs for the tests of the cleaner."""

from collections.abc import Callable, Iterable
from pathlib import Path

from headrace.log.cleaner.candidates import Candidate, examine, make_job
from headrace.log.cleaner.job import CleanJob, CleanResult
from headrace.log.cleaner.run import run
from headrace.log.cleaner.schedule import CleanerSchedule
from headrace.log.cleaner.sieve import DictSieve, Sieve
from headrace.log.cleaner.throttle import Throttle, unlimited
from headrace.log.partition_log import PartitionLog
from headrace.records.batch import BatchHeader, iter_headers
from headrace.records.builder import build_batch
from headrace.records.codecs import Codec
from headrace.records.reader import read_checked_batch
from headrace.records.record import Record
from tests.unit.log.samples import NOW, append, everything, finished, new_log

#: Enough for any test.
MAP_BYTES = 1 << 20

Pair = tuple[bytes | None, bytes | None]
SieveMaker = Callable[[CleanJob], Sieve]


def compacted_log(directory: Path, **settings: object) -> PartitionLog:
    return new_log(directory, cleanup_policy=frozenset({"compact"}), **settings)


def put(
    log: PartitionLog,
    *pairs: Pair,
    timestamp: int = NOW,
    codec: int = Codec.NONE,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
    append_time: int | None = None,
    headers: Iterable[tuple[str, bytes | None]] = (),
) -> int:
    """Append one batch with these keys and values; its base offset."""
    headers = list(headers)
    records = [
        Record(n, timestamp + n, key, value, headers) for n, (key, value) in enumerate(pairs)
    ]
    data = build_batch(
        records,
        codec=codec,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        transactional=transactional,
        append_time=append_time,
    )
    return append(log, data).base_offset


def look(
    log: PartitionLog, *, dirty_from: int = 0, now_ms: int = NOW, high_watermark: int | None = None
) -> Candidate:
    watermark = log.log_end_offset if high_watermark is None else high_watermark
    return examine(log, dirty_from, now_ms, watermark)


def dict_sieve(job: CleanJob) -> Sieve:
    return DictSieve(job.map_bytes)


def table_sieve(job: CleanJob) -> Sieve:
    from headrace.log.cleaner.sieve_numba import TableSieve

    return TableSieve(job.map_bytes, job.first_uncleanable_offset - job.first_dirty_offset)


def compact(
    log: PartitionLog,
    *,
    dirty_from: int = 0,
    now_ms: int = NOW,
    high_watermark: int | None = None,
    map_bytes: int = MAP_BYTES,
    sieve: SieveMaker = dict_sieve,
    throttle: Throttle = unlimited,
) -> CleanResult:
    """One whole round: job, work, swap."""
    candidate = look(log, dirty_from=dirty_from, now_ms=now_ms, high_watermark=high_watermark)
    job = make_job(candidate, now_ms, map_bytes)
    result = run(job, throttle, sieve(job))
    swap_in(log, job, result, now_ms)
    return result


def swap_in(log: PartitionLog, job: CleanJob, result: CleanResult, now_ms: int = NOW) -> None:
    schedule = CleanerSchedule()
    schedule.begin(job)
    assert finished(schedule.swap_in(job, result, log, now_ms))


def roll(log: PartitionLog) -> None:
    """Close the active segment: only then may it be compacted."""
    log.roll(NOW)


def headers_of(log: PartitionLog) -> list[BatchHeader]:
    return [header for _, header in iter_headers(everything(log))]


def records_of(log: PartitionLog) -> list[Record]:
    """All data records that are left."""
    data = everything(log)
    found: list[Record] = []
    for position, header in iter_headers(data):
        if not header.is_control:
            found += read_checked_batch(data, position, header)
    return found


def contents(log: PartitionLog) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(record.offset, record.key, record.value) for record in records_of(log)]


def replayed(log: PartitionLog) -> dict[bytes, bytes]:
    """What a consumer holds that read the whole log."""
    state: dict[bytes, bytes] = {}
    for record in records_of(log):
        if record.key is None:
            continue
        if record.value is None:
            state.pop(record.key, None)
        else:
            state[record.key] = record.value
    return state
