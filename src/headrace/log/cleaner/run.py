"""The heavy part of compaction, for a helper process: plain data in, `.cleaned` files and plain
data out. The log itself is not touched; the broker swaps the files in afterwards.
"""

import os

from headrace.base.errors import KafkaError
from headrace.log.cleaner.batch_filter import BatchFilter
from headrace.log.cleaner.cleaned_segment import CleanedSegmentWriter, discard_cleaned
from headrace.log.cleaner.grouping import group_segments
from headrace.log.cleaner.job import (
    CleanedSegment,
    CleaningError,
    CleanJob,
    CleanResult,
    CleanStats,
    SegmentFacts,
)
from headrace.log.cleaner.old_messages import as_batch
from headrace.log.cleaner.sieve import DictSieve, Sieve
from headrace.log.cleaner.source import encoded_records, read_chunks
from headrace.log.cleaner.throttle import Throttle, unlimited
from headrace.log.cleaner.transactions import CleanedTransactions
from headrace.log.file_names import LOG, OFFSET_INDEX, file_name
from headrace.log.offset_index import OffsetIndex
from headrace.log.scan import header_in_file
from headrace.records.batch import MAGIC_V2

#: Below this much to read, loading Numba takes longer than it saves.
_COMPILED_FROM_BYTES = 64 * 1024 * 1024


def run(job: CleanJob, throttle: Throttle = unlimited, sieve: Sieve | None = None) -> CleanResult:
    """Build the map of the dirty part, then write the log anew without what it makes obsolete.

    Raises `CleaningError`, which crosses process boundaries; no `.cleaned` file is left then.
    """
    if sieve is None:
        sieve = choose_sieve(job)
    stats = CleanStats()
    try:
        build_map(job, sieve, stats, throttle)
        end_offset = max(sieve.latest_offset + 1, job.first_dirty_offset)
        cleaned = _clean_segments(job, sieve, stats, throttle, end_offset)
    except OSError as error:
        reason = f"{error.strerror or error} while compacting {job.directory}"
        raise CleaningError(reason, error.errno) from error
    except KafkaError as error:
        raise CleaningError(f"{error.message} (while compacting {job.directory})") from error
    return CleanResult(tuple(cleaned), end_offset, stats)


def choose_sieve(job: CleanJob) -> Sieve:
    """The compiled sieve where it pays and Numba is installed, the plain one otherwise."""
    if sum(segment.size for segment in job.segments) >= _COMPILED_FROM_BYTES:
        try:
            from headrace.log.cleaner.sieve_numba import TableSieve
        except ImportError:
            pass
        else:
            return TableSieve(job.map_bytes, job.first_uncleanable_offset - job.first_dirty_offset)
    return DictSieve(job.map_bytes)


def build_map(job: CleanJob, sieve: Sieve, stats: CleanStats, throttle: Throttle) -> None:
    """Note the newest offset of every key in the dirty part, or as far as the map reaches."""
    transactions = CleanedTransactions(job.aborted)
    for segment, end_offset in _with_ends(job):
        if end_offset <= job.first_dirty_offset:
            continue
        if not _map_segment(job, segment, sieve, transactions, stats, throttle):
            break
        # Offsets that are missing at the end of a segment are known to be clean as well.
        sieve.latest_offset = end_offset - 1
    stats.map_keys = len(sieve)


def _map_segment(
    job: CleanJob,
    segment: SegmentFacts,
    sieve: Sieve,
    transactions: CleanedTransactions,
    stats: CleanStats,
    throttle: Throttle,
) -> bool:
    start = _start_of_dirty_part(job, segment)
    for chunk, headers in read_chunks(_path(job, segment, LOG), start, segment.size):
        throttle(len(chunk))
        stats.map_bytes_read += len(chunk)
        for position, header in headers:
            if header.is_control:
                transactions.on_control_batch(chunk, position, header)
            elif (
                not transactions.on_batch(header)
                and header.record_count
                and header.last_offset >= job.first_dirty_offset
            ):
                try:
                    if header.magic == MAGIC_V2:
                        data, records = encoded_records(chunk, position, header), header
                    else:
                        data, records = as_batch(chunk, position)
                    if not sieve.add(data, records, job.first_dirty_offset):
                        return False
                except KafkaError:
                    pass  # unreadable: it stays, and speaks for no key
            sieve.latest_offset = max(sieve.latest_offset, header.last_offset)
    return True


def _start_of_dirty_part(job: CleanJob, segment: SegmentFacts) -> int:
    """A batch at or before the first dirty offset; an index that lies is not believed."""
    distance = job.first_dirty_offset - segment.base_offset
    if distance <= 0:
        return 0
    index = OffsetIndex(_path(job, segment, OFFSET_INDEX), segment.base_offset)
    slot, (relative, position) = index.floor(distance, 0)
    if slot < 0 or not 0 <= position < segment.size:
        return 0
    with open(_path(job, segment, LOG), "rb") as file:
        header = header_in_file(file.fileno(), position, segment.size)
    is_there = header is not None and header.last_offset == segment.base_offset + relative
    return position if is_there else 0


def _clean_segments(
    job: CleanJob, sieve: Sieve, stats: CleanStats, throttle: Throttle, end_offset: int
) -> list[CleanedSegment]:
    transactions = CleanedTransactions(job.aborted)
    batch_filter = BatchFilter(job, sieve, transactions, stats)
    groups = group_segments(
        [segment for segment in job.segments if segment.base_offset < end_offset],
        segment_bytes=job.segment_bytes,
        index_bytes=job.segment_index_bytes,
        end_offset=job.first_uncleanable_offset,
    )
    try:
        return [
            _clean_group(job, group, batch_filter, transactions, stats, throttle)
            for group in groups
        ]
    except BaseException:
        discard_cleaned(job.directory, (group[0].base_offset for group in groups))
        raise


def _clean_group(
    job: CleanJob,
    group: list[SegmentFacts],
    batch_filter: BatchFilter,
    transactions: CleanedTransactions,
    stats: CleanStats,
    throttle: Throttle,
) -> CleanedSegment:
    base_offset = group[0].base_offset
    writer = CleanedSegmentWriter(job.directory, base_offset, job.index_interval_bytes)
    transactions.keep_aborted = writer.add_aborted
    try:
        for segment in group:
            batch_filter.begin(segment)
            for chunk, headers in read_chunks(_path(job, segment, LOG), 0, segment.size):
                throttle(len(chunk))
                for position, header in headers:
                    kept = batch_filter.filter(chunk, position, header)
                    if kept is not None:
                        stats.records_written += kept.records
                        throttle(writer.add(header, kept))
        throttle(writer.flush())
        writer.finish(group[-1].modified_ns)
    finally:
        writer.close()
    stats.bytes_written += writer.size
    replaced = tuple(segment.base_offset for segment in group)
    return CleanedSegment(base_offset, writer.size, replaced)


def _with_ends(job: CleanJob) -> list[tuple[SegmentFacts, int]]:
    """Each segment with the offset where the next one begins."""
    ends = [segment.base_offset for segment in job.segments]
    return list(zip(job.segments, [*ends[1:], job.first_uncleanable_offset], strict=False))


def _path(job: CleanJob, segment: SegmentFacts, kind: str) -> str:
    return os.path.join(job.directory, file_name(segment.base_offset, kind))
