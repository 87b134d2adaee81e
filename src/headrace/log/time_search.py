"""The way of a lookup by time through a log: from batch header to batch header, in short steps.

Between two steps the log may change. The place where a search stopped holds as long as its segment
is one of the log's and the log was not cut; otherwise the indexes lead near it again.
"""

import os
from typing import TypeAlias

from headrace.log.log_state import LogState
from headrace.log.scan import scan_headers
from headrace.log.segment import Segment
from headrace.log.time_lookup import Candidate

#: Headers read in one step of a search, about two milliseconds' worth.
_HEADERS_AT_ONCE = 2_000
#: Segments looked at in one step: the newest timestamp of each may have to be read from a file.
_SEGMENTS_AT_ONCE = 100


class TimeSearch:
    """Looks for the first record that is at least as new as a timestamp."""

    __slots__ = ("_next_offset", "_position", "_segment", "_timestamp", "_truncations")

    def __init__(self, timestamp: int) -> None:
        self._timestamp = timestamp
        #: The batches below have been looked at.
        self._next_offset = 0
        #: Where the next batch begins, in which segment, when the log was cut so often.
        self._position = 0
        self._segment: Segment | None = None
        self._truncations = 0

    def step(self, log: LogState) -> Candidate | None:
        """Go on to the next batch that says it is new enough; None at the end of the log.

        The candidate is empty if there was none among so many headers, or so many segments.
        """
        self._next_offset = max(self._next_offset, log.log_start_offset)
        headers_left = _HEADERS_AT_ONCE
        for count, segment in enumerate(log.segments.from_offset(self._next_offset)):
            if count == _SEGMENTS_AT_ONCE:
                self._next_offset = segment.base_offset
                return Candidate(self._timestamp, self._next_offset, b"")
            position = self._position_in(segment, log)
            if position < 0:
                continue
            for at, header in scan_headers(segment.fd(), position, segment.size):
                headers_left -= 1
                is_new_enough = (
                    header.max_timestamp >= self._timestamp
                    and header.last_offset >= self._next_offset
                )
                if is_new_enough or not headers_left:
                    data = os.pread(segment.fd(), header.size, at) if is_new_enough else b""
                    candidate = Candidate(self._timestamp, self._next_offset, data)
                    self._next_offset = max(self._next_offset, header.next_offset)
                    self._stop_at(log, segment, at + header.size)
                    return candidate
        return None

    def begin_near(self, log: LogState, offset: int) -> None:
        """Pass over what lies clearly before the batch that holds `offset`."""
        segment = log.segments.from_offset(offset)[0]
        self._next_offset = segment.base_offset
        self._stop_at(log, segment, segment.start_before(offset))

    def _stop_at(self, log: LogState, segment: Segment, position: int) -> None:
        self._segment, self._position = segment, position
        self._truncations = log.truncations

    def _position_in(self, segment: Segment, log: LogState) -> int:
        """Where to begin in a segment of the log; -1 if nothing in it is new enough."""
        if segment is self._segment and log.truncations == self._truncations:
            return self._position
        if not segment.size or segment.largest_timestamp() < self._timestamp:
            return -1
        near = max(segment.time_index.lookup(self._timestamp), self._next_offset)
        return segment.start_before(near)


class NewestSearch:
    """Looks for the first record with the largest timestamp of all: first for that timestamp."""

    __slots__ = ("_largest", "_largest_at", "_next_offset", "_search")

    def __init__(self) -> None:
        #: The newest timestamp so far, and the end of the batch that brought it.
        self._largest = -1
        self._largest_at = 0
        #: The segments below have been looked at.
        self._next_offset = 0
        self._search: TimeSearch | None = None

    def step(self, log: LogState) -> Candidate | None:
        """The same as for a timestamp that is known."""
        if self._search is None:
            if not self._look_at_segments(log):
                return Candidate(self._largest, self._next_offset, b"")
            if self._largest < 0:
                return None
            self._search = TimeSearch(self._largest)
            self._search.begin_near(log, self._largest_at)
        return self._search.step(log)

    def _look_at_segments(self, log: LogState) -> bool:
        """Compare the timestamps of some segments; True if there are no more."""
        segments = log.segments.from_offset(self._next_offset)
        for segment in segments[:_SEGMENTS_AT_ONCE]:
            timestamp, offset = segment.max_timestamp_and_offset()
            if timestamp > self._largest:
                self._largest, self._largest_at = timestamp, offset
        if len(segments) <= _SEGMENTS_AT_ONCE:
            return True
        self._next_offset = segments[_SEGMENTS_AT_ONCE].base_offset
        return False


Search: TypeAlias = TimeSearch | NewestSearch
