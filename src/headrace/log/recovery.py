"""After a hard kill: check what was not known to be on the disk, and cut the torn tail off.

`recover_directory` works on files alone and leaves a directory as a clean stop would, so it may
run in another process; loading then has nothing special to do. It begins at the recovery point:
what lies before was synced, and only indexes that are missing or damaged are rebuilt there.
"""

from typing import NamedTuple

from headrace.log.batch_checks import checked_batches, forget_indexes
from headrace.log.config import INT32_MAX, LogConfig
from headrace.log.failed_rolls import drop_overtaken
from headrace.log.file_names import SNAPSHOT, offsets_of_kind
from headrace.log.index_repair import indexes_are_sound, repair_indexes
from headrace.log.interrupted_swaps import log_offsets, tidy_directory
from headrace.log.leader_epochs import LeaderEpochs
from headrace.log.open_files import OpenFiles
from headrace.log.producer_rebuild import apply_batch, replay
from headrace.log.producer_state import ProducerStates
from headrace.log.scan import header_in_file
from headrace.log.segment import Segment
from headrace.log.segments import Segments
from headrace.records.batch import MAGIC_V2


class RecoveryReport(NamedTuple):
    """What a recovery found."""

    log_end_offset: int
    scanned_bytes: int
    #: Bytes behind the first bad batch, in its segment and all later ones.
    truncated_bytes: int


class Recovery:
    """The recovery of one directory."""

    def __init__(
        self,
        directory: str,
        config: LogConfig,
        *,
        recovery_point: int,
        log_start_offset: int,
        now_ms: int,
        producer_expiration_ms: int,
    ) -> None:
        self._directory = directory
        self._interval = config.index_interval_bytes
        self._recovery_point = recovery_point
        self._log_start_offset = log_start_offset
        self._now_ms = now_ms
        self._producer_expiration_ms = producer_expiration_ms
        self._files = OpenFiles(4)
        self._segments = Segments()
        self._producers = ProducerStates(directory)
        self._epochs = LeaderEpochs(directory)
        self._scanned = 0
        self._truncated = 0

    def run(self) -> RecoveryReport:
        names = tidy_directory(self._directory)
        self._producers.snapshots = offsets_of_kind(names, SNAPSHOT)
        for base_offset in log_offsets(names):
            self._segments.add(
                Segment.open(self._files, self._directory, base_offset, self._now_ms)
            )
        drop_overtaken(self._directory, self._segments, self._interval)
        self._epochs.load()
        end_offset = self._log_start_offset
        if len(self._segments):
            end_offset = self._recover_segments()
        self._epochs.truncate_from_end(end_offset)
        for segment in self._segments:
            segment.close()
        return RecoveryReport(end_offset, self._scanned, self._truncated)

    def _recover_segments(self) -> int:
        unflushed = self._segments.from_offset(self._recovery_point)
        start = self._trusted_start(unflushed[0])
        start_offset = self._offset_at(unflushed[0], start)
        for segment in self._segments:
            if segment.base_offset >= unflushed[0].base_offset:
                break
            repair_indexes(self._directory, self._segments, segment, self._interval)
        self._load_producers(start_offset)
        end_offset = start_offset
        for index, segment in enumerate(unflushed):
            end_offset, is_whole = self._scan(segment, start if index == 0 else 0, end_offset)
            self._producers.end_offset = end_offset
            if not is_whole:
                for later in reversed(unflushed[index + 1 :]):
                    self._truncated += later.size
                    self._segments.remove(later)
                    later.delete_files()
                break
            if index + 1 < len(unflushed):
                self._producers.end_offset = unflushed[index + 1].base_offset
            self._producers.take_snapshot()
        self._producers.take_snapshot()
        self._epochs.store()
        return end_offset

    def _trusted_start(self, segment: Segment) -> int:
        """Where in the first unflushed segment to begin, by index entries synced with its data."""
        index = segment.offset_index
        last = self._recovery_point - 1
        if not indexes_are_sound(segment):
            return 0
        slot = index.floor_slot(last - segment.base_offset, 0)
        if slot < 0:
            return 0
        relative, position = index.get(slot)
        header = header_in_file(segment.fd(), position, segment.size)
        if header is None or header.last_offset != segment.base_offset + relative:
            return 0
        return position

    def _offset_at(self, segment: Segment, position: int) -> int:
        header = header_in_file(segment.fd(), position, segment.size)
        return (
            segment.base_offset if header is None else max(header.base_offset, segment.base_offset)
        )

    def _load_producers(self, start_offset: int) -> None:
        producers = self._producers
        producers.load_snapshot(
            self._log_start_offset, start_offset, self._now_ms, self._producer_expiration_ms
        )
        behind = self._segments.from_offset(producers.end_offset)
        replay(producers, behind, producers.end_offset, start_offset)

    def _scan(self, segment: Segment, start: int, next_offset: int) -> tuple[int, bool]:
        """Check every batch from `start` on and index it anew; (end offset, no bad batch)."""
        next_offset = max(next_offset, segment.base_offset)
        forget_indexes(segment, start, next_offset)
        position = start
        for at, header, data, data_position in checked_batches(segment, start):
            last_offset = header.last_offset
            if header.base_offset < next_offset and header.magic == MAGIC_V2:
                break
            if last_offset < next_offset or last_offset - segment.base_offset > INT32_MAX:
                break
            segment.note(at, last_offset, header.max_timestamp, self._interval)
            if header.leader_epoch >= 0:
                self._epochs.note(header.leader_epoch, header.base_offset)
            if header.producer_id >= 0:
                aborted = apply_batch(self._producers, data, data_position, header)
                if aborted is not None:
                    segment.txn_index.append(aborted)
            next_offset = last_offset + 1
            position = at + header.size
        self._scanned += position - start
        truncated = segment.size - position
        if truncated:
            self._truncated += truncated
            segment.truncate_file(position)
        segment.finish()
        return next_offset, not truncated


def recover_directory(
    directory: str,
    config: LogConfig,
    *,
    recovery_point: int,
    log_start_offset: int,
    now_ms: int,
    producer_expiration_ms: int = 86_400_000,
) -> RecoveryReport:
    """Repair a partition's directory after a hard kill. Needs nothing but its files."""
    return Recovery(
        directory,
        config,
        recovery_point=recovery_point,
        log_start_offset=log_start_offset,
        now_ms=now_ms,
        producer_expiration_ms=producer_expiration_ms,
    ).run()
