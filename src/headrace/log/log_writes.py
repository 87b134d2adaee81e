"""The last steps of every append: find the segment, write, and bring all books up to date."""

import os
from collections.abc import Sequence
from typing import TypeAlias

from headrace.base.errors import ErrorCode, KafkaError
from headrace.log.append import AppendResult
from headrace.log.config import INT32_MAX
from headrace.log.errors import OUT_OF_FILES, PASSING, LogDirFailure
from headrace.log.log_state import LogState
from headrace.log.markers import read_marker
from headrace.log.producer_table import EndTxnMarker
from headrace.log.segment import Segment
from headrace.log.txn_index import AbortedTxn
from headrace.records.batch import BatchHeader, Buffer

Headers: TypeAlias = Sequence[tuple[int, BatchHeader]]
NO_PRODUCER = -1


class LogWrites(LogState):
    """What appends of leaders and followers have in common."""

    __slots__ = ()

    def assign_epoch(self, epoch: int, start_offset: int) -> None:
        try:
            self.leader_epochs.assign(epoch, start_offset)
        except OSError as error:
            raise self.refuse("writing the leader epoch checkpoint", error) from error

    def _write_batches(self, data: memoryview, headers: Headers, now_ms: int) -> AppendResult:
        """Write batches whose headers are final, as one piece."""
        first, last = headers[0][1], headers[-1][1]
        timestamp = max(header.max_timestamp for _, header in headers)
        segment = self._segment_for(
            len(data), first.base_offset, last.last_offset, timestamp, now_ms
        )
        for _, header in headers:
            if header.leader_epoch > self.leader_epochs.latest_epoch:
                self.assign_epoch(header.leader_epoch, header.base_offset)
        try:
            start = segment.write(data)
        except OSError as error:
            raise self._write_failed(segment, error) from error
        self.log_end_offset = next_offset = last.next_offset
        for position, header in headers:
            segment.note(
                start + position, header.last_offset, header.max_timestamp, self._index_interval
            )
            if header.producer_id > NO_PRODUCER:
                self._apply_producer(segment, data, position, header)
        self.producers.end_offset = next_offset
        flush_needed = next_offset - self.recovery_point >= self._flush_messages
        return AppendResult(first.base_offset, last.last_offset, -1, False, flush_needed)

    def _apply_producer(
        self, segment: Segment, data: Buffer, position: int, header: BatchHeader
    ) -> None:
        if not header.is_control:
            self.producers.apply(header, header.base_offset, header.max_timestamp)
            return
        marker = read_marker(data, position, header)
        if marker is not None:
            self._end_transaction(segment, header, marker, header.base_offset, header.max_timestamp)

    def _end_transaction(
        self,
        segment: Segment,
        header: BatchHeader,
        marker: EndTxnMarker,
        offset: int,
        timestamp: int,
    ) -> None:
        completed = self.producers.apply_marker(header, marker, offset, timestamp)
        if completed is None:
            return
        if completed.aborted:
            stable = self.producers.last_stable_offset_after(completed)
            try:
                segment.txn_index.append(
                    AbortedTxn(completed.producer_id, completed.first_offset, offset, stable)
                )
            except OSError as error:
                # The marker is in the log: readers have the entry from memory, and the next flush
                # or roll stores it. Recovery finds the marker behind the recovery point.
                if error.errno not in PASSING:
                    raise self.fail("writing the transaction index", error) from error
        self.producers.complete(completed)

    def _segment_for(
        self, length: int, first_offset: int, last_offset: int, timestamp: int, now_ms: int
    ) -> Segment:
        """The segment the next bytes go to: the active one, or a new one if it is time."""
        segment = self.active
        if (
            segment.index_room > 0
            and timestamp <= segment.rolls_after
            and segment.size + length <= self._segment_bytes
            and last_offset - segment.base_offset <= INT32_MAX
            and self._failure is None
        ):
            return segment
        return self._look_at_limits(length, first_offset, last_offset, timestamp, now_ms)

    def _look_at_limits(
        self, length: int, first_offset: int, last_offset: int, timestamp: int, now_ms: int
    ) -> Segment:
        """The same by everything that ends a segment; few appends come here."""
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        segment = self.active
        size = segment.size
        if size + length > self._segment_bytes and length > self._segment_bytes:
            raise KafkaError(
                ErrorCode.RECORD_LIST_TOO_LARGE,
                f"{length} bytes are more than a segment's {self._segment_bytes}.",
            )
        try:
            if (
                (
                    size > 0
                    and (
                        size + length > self._segment_bytes
                        or self._roll_is_due(segment, timestamp, now_ms)
                    )
                )
                or last_offset - segment.base_offset > INT32_MAX
                or len(segment.offset_index) >= self._offset_entries_max
                or len(segment.time_index) >= self._time_entries_max
            ):
                return self.roll(now_ms, first_offset)
            if not segment.offset_index.pending_room:
                segment.store_indexes()
            if size > 0:
                self._note_limits(segment)
        except OSError as error:
            raise self.refuse("looking into the active segment", error) from error
        return segment

    def _note_limits(self, segment: Segment) -> None:
        """Spare the next appends this look, as far as no limit is near."""
        first = segment.first_timestamp()
        if first < 0:
            return  # it goes by the clock then
        segment.rolls_after = first + self._roll_limit_ms(segment)
        segment.index_room = min(
            segment.offset_index.pending_room,
            self._offset_entries_max - len(segment.offset_index),
            self._time_entries_max - len(segment.time_index),
        )

    def _write_failed(self, segment: Segment, error: OSError) -> LogDirFailure:
        """A write that failed leaves the log as it was, if the disk lets us cut the rest off."""
        try:
            if os.fstat(segment.fd()).st_size > segment.size:
                os.ftruncate(segment.fd(), segment.size)
        except OSError:
            # A file that could not even be opened was not written to.
            if error.errno not in OUT_OF_FILES:
                return self.fail("appending records", error)
        return LogDirFailure(self.directory, "appending records", error)
