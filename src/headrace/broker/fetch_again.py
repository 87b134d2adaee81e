"""One fetch of one partition that comes again and again, without being decoded or encoded anew."""

from __future__ import annotations

from struct import Struct
from typing import Final, Protocol

from headrace.base.clock import Clock
from headrace.base.errors import KafkaError
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.context import RequestContext
from headrace.broker.fetch_sessions import NO_SESSION, FetchPosition, FetchSession, FetchSessions
from headrace.broker.fetching import Fetch, FetchServices
from headrace.broker.known_requests import OFFSET_MARKS, pieces
from headrace.broker.parked import Parked, Reply
from headrace.protocol.compiler import Buffer
from headrace.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from headrace.protocol.wire import write_uvarint
from headrace.replication.partition import READ_COMMITTED, Partition

#: High watermark, last stable offset and log start offset, which stand together in every answer.
_OFFSETS = Struct(">qqq")
_RECORDS_MARK = b"\xd7records\xb1"
#: More than this is not worth another copy; `Fetch` sends it in pieces or from its file.
_SIZE_MAX: Final = 32 * 1024
#: The least that a timer can be set to.
_TIMER_STEP_MS: Final = 1.0
_READ: Final = Operation.READ
_TOPIC: Final = ResourceType.TOPIC


class KnownFetchServices(FetchServices, Protocol):
    """What fetches need of the node where they are known."""

    sessions: FetchSessions
    clock: Clock


class FetchAgain(Fetch):
    """The same fetch again and again: nothing is decoded, and its answer is nearly written."""

    __slots__ = (
        "_answer_end",
        "_answer_middle",
        "_answer_start",
        "_bytes_max",
        "_bytes_min",
        "_clock",
        "_deadline_ms",
        "_is_committed",
        "_is_timed",
        "_leadership",
        "_partition",
        "_siblings",
        "position",
    )

    def __init__(
        self,
        services: KnownFetchServices,
        context: RequestContext,
        request: FetchRequest,
        session: FetchSession | None,
        siblings: dict[int, Partition],
    ) -> None:
        asked = request.topics[0].partitions[0]
        self._partition = siblings[asked.partition]
        self.position = _position(request, session)
        super().__init__(services, context, request, session, [self.position])
        self._siblings = siblings
        self._leadership = self._partition.leadership
        self._is_committed = request.isolation_level == READ_COMMITTED
        self._bytes_max = min(asked.partition_max_bytes, request.max_bytes, services.bytes_max)
        self._bytes_min = self._bytes_wanted()
        self._clock = services.clock
        self._deadline_ms = 0.0
        self._is_timed = False
        self._answer_start, self._answer_middle, self._answer_end = pieces(
            _answer(request, session),
            context.api_version,
            _OFFSETS.pack(*OFFSET_MARKS),
            write_uvarint(len(_RECORDS_MARK) + 1) + _RECORDS_MARK,
        )

    def is_as_known(self) -> bool:
        """Whether this client may still read the partition, and from this node."""
        partition = self._partition
        return (
            partition.leadership is self._leadership
            and self._siblings.get(partition.index) is partition
            and partition.has_log
            and self._context.allows(_READ, _TOPIC, partition.topic)
        )

    def begin(self, epoch: int, offset: int) -> Reply | Parked:
        """Answer, or wait."""
        position, request = self.position, self._request
        asked = request.topics[0].partitions[0]
        position.fetch_offset = offset
        position.max_bytes = asked.partition_max_bytes
        position.current_leader_epoch = asked.current_leader_epoch
        position.last_fetched_epoch = asked.last_fetched_epoch
        request.session_epoch = epoch
        return self.answer_or_park()

    def has_nothing_to_read(self) -> bool:
        partition = self._partition
        end = partition.last_stable_offset if self._is_committed else partition.high_watermark
        self._missing_bytes = wanted = self._bytes_min
        return self.position.fetch_offset == end and wanted > 0

    def try_answer(self) -> FetchResponse | bytes | None:
        answer = None
        # Much may have changed while it waited.
        if self._parked.is_done or self.is_as_known():
            answer = self._read_known()
        return answer or super().try_answer()

    def _read_known(self) -> bytes | None:
        """The answer with what there is to read, if it is enough and not too much to copy."""
        partition, position = self._partition, self.position
        log, offset = partition.log, position.fetch_offset
        high_watermark = partition.high_watermark
        last_stable = log.last_stable_offset(high_watermark)
        stop = last_stable if self._is_committed else high_watermark
        try:
            records, end = self._read_up_to(stop)
            if records and self._is_committed and log.aborted_transactions(offset, end):
                return None
        except KafkaError:
            return None
        size = len(records or b"")
        if not records or size < self._bytes_min:
            return None
        self._results = []  # of a look that found too little
        position.high_watermark = high_watermark
        position.log_start_offset = log.log_start_offset
        self._services.reader.count(partition.topic, size)
        return b"".join(
            (
                self._answer_start,
                _OFFSETS.pack(high_watermark, last_stable, log.log_start_offset),
                self._answer_middle,
                write_uvarint(size + 1),
                records,
                self._answer_end,
            )
        )

    def _read_up_to(self, stop: int) -> tuple[Buffer | None, int]:
        """All there is to read, unless it is more than a little, and an offset behind it."""
        partition, offset = self._partition, self.position.fetch_offset
        log = partition.log
        if partition.newest is not None:
            first, following, records = partition.newest
            # Where it is the only one, what the client wants at most does not matter.
            is_all = first == offset and following == stop
            if is_all and offset >= log.log_start_offset and len(records) < _SIZE_MAX:
                return records, stop
        read, end = log.read_or_slice(
            offset, self._bytes_max, end_offset=stop, at_least_one=True, lazy_from=_SIZE_MAX
        )
        return read if isinstance(read, bytes) else None, end

    # Waiting: one timer serves one wait after the other, since most of them end long before it.

    def park(self) -> Parked:
        self._parked = parked = Parked(self._leave)
        self._partition.data_waiters[id(self)] = self._on_data
        self._deadline_ms = self._clock.mono_ms() + self._request.max_wait_ms
        if not self._is_timed:
            self._is_timed = True
            self._services.scheduler.call_later(self._request.max_wait_ms, self._on_timer)
        return parked

    def _leave(self) -> None:
        self._partition.data_waiters.pop(id(self), None)

    def _on_timer(self) -> None:
        left_ms = self._deadline_ms - self._clock.mono_ms()
        self._is_timed = left_ms > 0 and self.is_waiting
        if self._is_timed:
            self._services.scheduler.call_later(max(left_ms, _TIMER_STEP_MS), self._on_timer)
        elif self.is_waiting:
            self._finish()


def _position(request: FetchRequest, session: FetchSession | None) -> FetchPosition:
    """Where this client stands: its session's note, or one of our own if it has none."""
    if session is not None:
        return next(iter(session.positions.values()))
    topic = request.topics[0]
    return FetchPosition(topic.topic or topic.topic_id, topic.partitions[0].partition)


def _answer(request: FetchRequest, session: FetchSession | None) -> FetchResponse:
    """The answer with records, and with marks for all that differs."""
    high_watermark, last_stable, log_start = OFFSET_MARKS
    topic = request.topics[0]
    data = PartitionData(
        partition_index=topic.partitions[0].partition,
        high_watermark=high_watermark,
        last_stable_offset=last_stable,
        log_start_offset=log_start,
        aborted_transactions=[] if request.isolation_level == READ_COMMITTED else None,
        records=_RECORDS_MARK,
    )
    return FetchResponse(
        session_id=NO_SESSION if session is None else session.session_id,
        responses=[
            FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id, partitions=[data])
        ],
    )
