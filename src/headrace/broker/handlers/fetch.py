"""Fetch: serves batches as they lie on disk, and waits for them where there are none yet."""

from __future__ import annotations

from headrace.base.clock import Clock
from headrace.broker.config import BrokerConfig
from headrace.broker.context import RequestContext
from headrace.broker.fetch_reads import PartitionReader
from headrace.broker.fetch_sessions import NO_SESSION, FetchPosition, FetchSession, FetchSessions
from headrace.broker.parked import Parked, Scheduler
from headrace.broker.wakeups import Wakeups
from headrace.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from headrace.replication.partition import Partition

_TOPIC_IDS_SINCE = 13


class FetchHandler:
    """Serves API key 1."""

    def __init__(
        self,
        reader: PartitionReader,
        sessions: FetchSessions,
        scheduler: Scheduler,
        clock: Clock,
        config: BrokerConfig,
        wakeups: Wakeups,
    ) -> None:
        self.reader = reader
        self.scheduler = scheduler
        self.wakeups = wakeups
        self.bytes_max = config.fetch_bytes_max
        self._sessions = sessions
        self._clock = clock

    def __call__(self, context: RequestContext, request: FetchRequest) -> FetchResponse | Parked:
        uses_ids = context.api_version >= _TOPIC_IDS_SINCE
        session, positions = self._sessions.open(request, uses_ids, self._clock.mono_ms())
        fetch = _Fetch(self, context, request, session, positions)
        may_wait = request.max_wait_ms > 0
        if may_wait and fetch.has_nothing_to_read():
            return fetch.park()
        if fetch.read() or not may_wait:
            return fetch.respond()
        return fetch.park()


class _Fetch:
    """One Fetch request while it is being answered."""

    __slots__ = (
        "_context",
        "_handler",
        "_missing_bytes",
        "_parked",
        "_positions",
        "_request",
        "_results",
        "_session",
        "_timer",
        "_waiting_on",
        "_woken",
    )

    def __init__(
        self,
        handler: FetchHandler,
        context: RequestContext,
        request: FetchRequest,
        session: FetchSession | None,
        positions: list[FetchPosition],
    ) -> None:
        self._handler = handler
        self._context = context
        self._request = request
        self._session = session
        self._positions = positions
        self._results: list[tuple[FetchPosition, PartitionData]] = []
        self._waiting_on: list[Partition] = []
        self._missing_bytes = 0
        self._woken = False

    def has_nothing_to_read(self) -> bool:
        """True if this client has everything there is; then there is no need to read at all."""
        request, find_exhausted = self._request, self._handler.reader.find_exhausted
        if request.min_bytes <= 0 or not self._positions:
            return False
        self._waiting_on = []
        for position in self._positions:
            partition = find_exhausted(self._context, request, position)
            if partition is None:
                return False
            self._waiting_on.append(partition)
        self._missing_bytes = min(request.min_bytes, request.max_bytes, self._handler.bytes_max)
        return self._missing_bytes > 0

    def read(self) -> bool:
        """Read every partition; True if there is enough to answer at once."""
        self._results = results = []
        request, reader = self._request, self._handler.reader
        left = bytes_max = min(request.max_bytes, self._handler.bytes_max)
        total = 0
        is_urgent = not self._positions
        for position in self._positions:
            data = reader.read(self._context, request, position, left, is_first=total == 0)
            if data.records:
                size = len(data.records)
                total += size
                left -= size
            elif data.error_code or data.diverging_epoch.epoch >= 0:
                is_urgent = True
            results.append((position, data))
        # A client that wants more than it lets us send would wait for nothing.
        self._missing_bytes = min(request.min_bytes, bytes_max) - total
        return is_urgent or self._missing_bytes <= 0

    # Waiting

    def park(self) -> Parked:
        """Wait until enough bytes have come or time is up."""
        handler = self._handler
        self._parked = Parked()
        if len(self._waiting_on) < len(self._positions):
            self._waiting_on = [handler.reader.find(position) for position in self._positions]
        for partition in self._waiting_on:
            partition.data_waiters[id(self)] = self._on_data
        self._timer = handler.scheduler.call_later(self._request.max_wait_ms, self._finish)
        self._parked.when_abandoned(self._leave)
        return self._parked

    def _on_data(self, size: int) -> None:
        self._missing_bytes -= size
        if self._missing_bytes <= 0 and not self._woken:
            self._woken = True
            # Not at once: appends to several partitions in one request are read together.
            self._handler.wakeups.add(self._look_again)

    def _look_again(self) -> None:
        """Not every new byte is for this reader: an open transaction may hold it back."""
        self._woken = False
        if not self._parked.is_done and self.read():
            self._parked.complete(self.respond())
            self._leave()  # after the answer, which somebody waits for

    def _leave(self) -> None:
        self._timer.cancel()
        for partition in self._waiting_on:
            partition.data_waiters.pop(id(self), None)

    def _finish(self) -> None:
        self._leave()
        if not self._parked.is_done:
            self._handler.reader.count_expired()
            self.read()
            self._parked.complete(self.respond())

    # Answering

    def respond(self) -> FetchResponse:
        """The response; of an incremental session only what the client does not know yet."""
        session = self._session
        response = FetchResponse(session_id=NO_SESSION if session is None else session.session_id)
        is_incremental = session is not None and self._request.session_epoch > 0
        topics: dict[str | bytes, FetchableTopicResponse] = {}
        served = []
        for position, data in self._results:
            if data.records:
                self._handler.reader.count(position, len(data.records))
                served.append((position.topic, position.index))
            elif is_incremental and not _has_news(position, data):
                continue
            position.high_watermark = data.high_watermark
            position.log_start_offset = data.log_start_offset
            topic = topics.get(position.topic)
            if topic is None:
                topic = topics[position.topic] = FetchableTopicResponse()
                if isinstance(position.topic, str):
                    topic.topic = position.topic
                else:
                    topic.topic_id = position.topic
                response.responses.append(topic)
            topic.partitions.append(data)
        if session is not None and len(session.positions) > 1:
            session.move_to_end(key for key in served if key in session.positions)
        return response


def _has_news(position: FetchPosition, data: PartitionData) -> bool:
    if data.error_code:
        position.high_watermark = -1  # so that the next sound answer is sent
        return True
    return (
        data.high_watermark != position.high_watermark
        or data.log_start_offset != position.log_start_offset
        or data.diverging_epoch.epoch >= 0
    )
