"""Reading from a log: bytes by offset, offsets by time, and what committed readers must skip."""

from headrace.base.errors import ErrorCode, KafkaError
from headrace.log.file_slice import FileSlice
from headrace.log.log_state import LogState
from headrace.log.time_lookup import Candidate
from headrace.log.time_search import Search
from headrace.log.txn_index import AbortedTxn

_NEVER = 1 << 62


class LogReads(LogState):
    """The reading half of a log."""

    __slots__ = ()

    def read(
        self, offset: int, max_bytes: int, *, end_offset: int, at_least_one: bool = True
    ) -> bytes:
        """Whole batches as they lie in the file, from the one that holds `offset`.

        Nothing at or past `end_offset` is returned, and no more than `max_bytes`, unless the
        first batch alone is larger and `at_least_one` asks for it all the same.
        """
        data, _ = self.read_or_slice(
            offset, max_bytes, end_offset=end_offset, at_least_one=at_least_one, lazy_from=_NEVER
        )
        assert isinstance(data, bytes)  # noqa: S101 - nothing is lazy from there on
        return data

    def read_or_slice(
        self,
        offset: int,
        max_bytes: int,
        *,
        end_offset: int,
        at_least_one: bool,
        lazy_from: int,
    ) -> tuple[bytes | FileSlice, int]:
        """Like `read`, but `lazy_from` bytes or more are left in the file, for `sendfile`.

        With them comes an offset that they do not reach, which is seldom far from their end.
        """
        log_end = self.log_end_offset
        if not self.log_start_offset <= offset <= log_end:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"Offset {offset} of {self.topic}-{self.partition} is not within"
                f" {self.log_start_offset} and {log_end}.",
            )
        if end_offset > log_end:
            end_offset = log_end
        if offset >= end_offset:
            return b"", end_offset
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        active = self.active
        try:
            if offset >= active.base_offset:
                return active.read(
                    offset, max_bytes, end_offset, log_end, at_least_one, lazy_from
                ) or (b"", end_offset)
            return self._read_older(offset, max_bytes, end_offset, at_least_one, lazy_from)
        except OSError as error:
            raise self.refuse("reading a segment", error) from error

    def _read_older(
        self, offset: int, max_bytes: int, end_offset: int, at_least_one: bool, lazy_from: int
    ) -> tuple[bytes | FileSlice, int]:
        """Read from a segment that is not the active one, or go on to those behind it."""
        segments = self.segments
        for index in range(max(segments.floor_index(offset), 0), len(segments)):
            segment = segments[index]
            if segment.base_offset >= end_offset:
                break
            if index + 1 < len(segments):
                next_offset = segments[index + 1].base_offset
            else:
                next_offset = self.log_end_offset
            read = segment.read(offset, max_bytes, end_offset, next_offset, at_least_one, lazy_from)
            if read is not None:
                return read
        return b"", end_offset

    def next_candidate(self, search: Search) -> Candidate | None:
        """Take a step of a lookup by time; None at the end of the search."""
        self.require_healthy()
        try:
            return search.step(self)
        except OSError as error:
            raise self.refuse("looking up a timestamp", error) from error

    def last_stable_offset(self, high_watermark: int) -> int:
        """Where readers of committed data stop: no transaction below is open, and every marker
        below is replicated, so that no other leader can decide it differently."""
        first = self.producers.first_unstable_offset(high_watermark)
        if first is None:
            return high_watermark
        return min(max(first, self.log_start_offset), high_watermark)

    def aborted_transactions(self, start: int, end: int) -> list[AbortedTxn]:
        """Aborted transactions that a reader of committed data between two offsets must skip."""
        found: list[AbortedTxn] = []
        try:
            for segment in self.segments.from_offset(start):
                if segment.txn_index.collect(start, end, found):
                    break
        except OSError as error:
            raise self.refuse("reading a transaction index", error) from error
        return found
