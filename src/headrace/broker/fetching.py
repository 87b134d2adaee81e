"""One Fetch request while it is being answered: reading, waiting for data, answering."""

from __future__ import annotations

from typing import Protocol

from headrace.broker.context import RequestContext
from headrace.broker.fetch_reads import PartitionReader
from headrace.broker.fetch_sessions import NO_SESSION, FetchPosition, FetchSession
from headrace.broker.parked import DONE, Parked, Reply, Scheduler
from headrace.broker.wakeups import Wakeups
from headrace.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from headrace.replication.partition import Partition


class FetchServices(Protocol):
    """What a fetch needs of the node."""

    reader: PartitionReader
    scheduler: Scheduler
    wakeups: Wakeups
    bytes_max: int


class Fetch:
    """One Fetch request while it is being answered."""

    __slots__ = (
        "_context",
        "_missing_bytes",
        "_parked",
        "_positions",
        "_request",
        "_results",
        "_services",
        "_session",
        "_timer",
        "_waiting_on",
        "_woken",
    )

    def __init__(
        self,
        services: FetchServices,
        context: RequestContext,
        request: FetchRequest,
        session: FetchSession | None,
        positions: list[FetchPosition],
    ) -> None:
        self._services = services
        self._context = context
        self._request = request
        self._session = session
        self._positions = positions
        self._results: list[tuple[FetchPosition, PartitionData]] = []
        self._waiting_on: list[Partition] = []
        self._missing_bytes = 0
        self._woken = False
        self._parked = DONE

    def answer_or_park(self) -> Reply | Parked:
        """The answer if there is enough to send, or if this client does not wait."""
        may_wait = self._request.max_wait_ms > 0
        if may_wait and self.has_nothing_to_read():
            return self.park()
        answer = self.try_answer()
        if answer is not None:
            return answer
        return self.park() if may_wait else self.respond()

    def try_answer(self) -> FetchResponse | bytes | None:
        """The answer, if there is enough to send."""
        return self.respond() if self.read() else None

    def has_nothing_to_read(self) -> bool:
        """True if this client has everything there is; then there is no need to read at all."""
        request, find_exhausted = self._request, self._services.reader.find_exhausted
        if request.min_bytes <= 0 or not self._positions:
            return False
        self._waiting_on = []
        for position in self._positions:
            partition = find_exhausted(self._context, request, position)
            if partition is None:
                return False
            self._waiting_on.append(partition)
        self._missing_bytes = self._bytes_wanted()
        return self._missing_bytes > 0

    def _bytes_wanted(self) -> int:
        """A client that wants more than it lets us send would wait for nothing."""
        request = self._request
        return min(request.min_bytes, request.max_bytes, self._services.bytes_max)

    def read(self) -> bool:
        """Read every partition; True if there is enough to answer at once."""
        self._results = results = []
        request, reader = self._request, self._services.reader
        left = min(request.max_bytes, self._services.bytes_max)
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
        self._missing_bytes = self._bytes_wanted() - total
        return is_urgent or self._missing_bytes <= 0

    # Waiting

    def park(self) -> Parked:
        """Wait until enough bytes have come or time is up."""
        services = self._services
        self._parked = Parked(self._leave)
        if len(self._waiting_on) < len(self._positions):
            self._waiting_on = [services.reader.find(position) for position in self._positions]
        for partition in self._waiting_on:
            partition.data_waiters[id(self)] = self._on_data
        self._timer = services.scheduler.call_later(self._request.max_wait_ms, self._finish)
        return self._parked

    def _on_data(self, size: int) -> None:
        self._missing_bytes -= size
        if self._missing_bytes <= 0 and not self._woken:
            self._woken = True
            # Not at once: appends to several partitions in one request are read together.
            self._services.wakeups.add(self._look_again)

    def _look_again(self) -> None:
        """Not every new byte is for this reader: an open transaction may hold it back."""
        self._woken = False
        if self._parked.is_done:
            return
        answer = self.try_answer()
        if answer is not None:
            parked = self._parked
            try:
                parked.complete(answer)
            finally:
                # After the answer, which somebody waits for, unless the next wait has begun.
                if self._parked is parked:
                    self._leave()

    @property
    def is_waiting(self) -> bool:
        return not self._parked.is_done

    def _leave(self) -> None:
        self._timer.cancel()
        for partition in self._waiting_on:
            partition.data_waiters.pop(id(self), None)

    def _finish(self) -> None:
        self._leave()
        if not self._parked.is_done:
            self._services.reader.count_expired()
            self.read()
            self._parked.complete(self.respond())

    # Answering

    def respond(self) -> FetchResponse:
        """The response; of an incremental session only what the client does not know yet."""
        session, reader = self._session, self._services.reader
        response = FetchResponse(session_id=NO_SESSION if session is None else session.session_id)
        is_incremental = session is not None and self._request.session_epoch > 0
        topics: dict[str | bytes, FetchableTopicResponse] = {}
        served = []
        results, self._results = self._results, []
        for position, data in results:
            if data.records:
                reader.count(reader.find(position).topic, len(data.records))
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
