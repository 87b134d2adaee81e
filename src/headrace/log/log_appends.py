"""Appending to a log. Python runs per batch here, and as little of it as possible."""

from headrace.base.errors import ErrorCode, KafkaError
from headrace.log.append import AppendOrigin, AppendResult
from headrace.log.log_writes import NO_PRODUCER, Headers, LogWrites
from headrace.log.markers import read_marker
from headrace.log.producer_entry import ProducedBatch
from headrace.log.producer_table import EndTxnMarker
from headrace.records.batch import (
    CONTROL_FLAG,
    BatchHeader,
    Buffer,
    iter_headers,
    stamp,
    stamp_append_time,
)


class LogAppends(LogWrites):
    """The writing half of a log."""

    __slots__ = ()

    def append_as_leader(
        self,
        batch: bytearray | memoryview,
        *,
        leader_epoch: int,
        now_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        header: BatchHeader | None = None,
        transaction_version: int = 0,
    ) -> AppendResult:
        """Give the batches the next offsets and write them.

        `batch` holds whole batches of format 2 and nothing else, checked by the caller; it is
        stamped in place and not kept. The `header` of a single batch spares reading it again.
        """
        append_time = now_ms if self._append_time else -1
        if header is None:
            headers = list(iter_headers(batch))
            if len(headers) != 1:
                return self._append_several(
                    batch, headers, leader_epoch, now_ms, origin, append_time, transaction_version
                )
            header = headers[0][1]
        marker: EndTxnMarker | None = None
        has_producer = header.producer_id > NO_PRODUCER
        if has_producer:
            if header.attributes & CONTROL_FLAG:
                marker = read_marker(batch, 0, header)
                if marker is not None:
                    self.producers.check_marker(header, marker, transaction_version)
            else:
                duplicate = self.producers.check(header, origin)
                if duplicate is not None:
                    return self._duplicate_result(duplicate, append_time)
        base_offset = self.log_end_offset
        last_offset = base_offset + header.last_offset_delta
        timestamp = header.max_timestamp
        if append_time >= 0:
            timestamp = append_time
            stamp_append_time(batch, 0, append_time)
        stamp(batch, 0, base_offset, leader_epoch)
        segment = self._segment_for(len(batch), base_offset, last_offset, timestamp, now_ms)
        if leader_epoch > self.leader_epochs.latest_epoch:
            self.assign_epoch(leader_epoch, base_offset)
        try:
            position = segment.write(batch)
        except OSError as error:
            raise self._write_failed(segment, error) from error
        segment.note(position, last_offset, timestamp, self._index_interval)
        self.log_end_offset = next_offset = last_offset + 1
        if has_producer:
            if marker is not None:
                self._end_transaction(segment, header, marker, base_offset, timestamp)
            elif not header.attributes & CONTROL_FLAG:
                self.producers.apply(header, base_offset, timestamp)
        self.producers.end_offset = next_offset
        flush_needed = next_offset - self.recovery_point >= self._flush_messages
        return AppendResult(base_offset, last_offset, append_time, False, flush_needed)

    def append_as_follower(
        self, buffer: Buffer, *, now_ms: int, headers: Headers | None = None
    ) -> AppendResult:
        """Write batches that already have offsets and epochs; a partial one at the end is cut."""
        if headers is None:
            headers = list(iter_headers(buffer))
        if not headers:
            return AppendResult(self.log_end_offset, self.log_end_offset - 1, -1, False, False)
        expected = self.log_end_offset
        for _, header in headers:
            if header.base_offset < expected:
                raise KafkaError(
                    ErrorCode.UNKNOWN_SERVER_ERROR,
                    f"Unexpected offset in append to {self.topic}-{self.partition}:"
                    f" {header.base_offset} is less than the next offset {expected}.",
                )
            expected = header.next_offset
        return self._follow(memoryview(buffer), headers, now_ms)

    def _follow(self, buffer: memoryview, headers: Headers, now_ms: int) -> AppendResult:
        """Write one piece, or several if a fetch brought more than a segment holds."""
        start, (position, last) = headers[0][0], headers[-1]
        end = position + last.size
        if end - start > self._segment_bytes and len(headers) > 1:
            middle = len(headers) // 2
            first = self._follow(buffer, headers[:middle], now_ms)
            return self._follow(buffer, headers[middle:], now_ms)._replace(
                base_offset=first.base_offset
            )
        if start:
            headers = [(position - start, header) for position, header in headers]
        return self._write_batches(buffer[start:end], headers, now_ms)

    def start_leader_epoch(self, leader_epoch: int) -> None:
        """Know of an epoch before its leader writes anything; its first batch stores it."""
        self.leader_epochs.current_epoch = leader_epoch

    def _append_several(
        self,
        batch: bytearray | memoryview,
        headers: Headers,
        leader_epoch: int,
        now_ms: int,
        origin: AppendOrigin,
        append_time: int,
        transaction_version: int,
    ) -> AppendResult:
        """Coordinators and the metadata log write several batches at once; clients do not."""
        if not headers:
            return AppendResult(self.log_end_offset, self.log_end_offset - 1, -1, False, False)
        duplicate = self._check_several(batch, headers, origin, transaction_version)
        if duplicate is not None:
            return self._duplicate_result(duplicate, append_time)
        offset = self.log_end_offset
        for position, header in headers:
            if append_time >= 0:
                stamp_append_time(batch, position, append_time)
                header.max_timestamp = append_time
            stamp(batch, position, offset, leader_epoch)
            header.base_offset = offset
            header.leader_epoch = leader_epoch
            offset = header.next_offset
        result = self._write_batches(memoryview(batch), headers, now_ms)
        return result._replace(append_time_ms=append_time)

    def _check_several(
        self, batch: Buffer, headers: Headers, origin: AppendOrigin, transaction_version: int
    ) -> ProducedBatch | None:
        """Check each batch against the state that those before it will leave."""
        ids = {header.producer_id for _, header in headers if header.producer_id > NO_PRODUCER}
        if not ids:
            return None
        producers = self.producers
        saved = producers.saved(ids)
        try:
            for position, header in headers:
                if header.producer_id <= NO_PRODUCER:
                    continue
                if header.is_control:
                    marker = read_marker(batch, position, header)
                    if marker is not None:
                        producers.check_marker(header, marker, transaction_version)
                        producers.apply_marker(header, marker, 0, header.max_timestamp)
                    continue
                duplicate = producers.check(header, origin)
                if duplicate is not None:
                    return duplicate
                producers.apply(header, self.log_end_offset, header.max_timestamp)
        finally:
            producers.restore(saved)
        return None

    def _duplicate_result(self, duplicate: ProducedBatch, append_time: int) -> AppendResult:
        """What the first of them was told; the flush that it waits for may still be under way."""
        timestamp = duplicate.timestamp if append_time >= 0 else -1
        flush_needed = (
            duplicate.last_offset >= self.recovery_point
            and self.log_end_offset - self.recovery_point >= self._flush_messages
        )
        return AppendResult(
            duplicate.first_offset, duplicate.last_offset, timestamp, True, flush_needed
        )
