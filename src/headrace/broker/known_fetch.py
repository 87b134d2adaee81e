"""A Fetch request for one partition that a client repeats with the next offset."""

from __future__ import annotations

from struct import Struct
from typing import Final, Protocol

from headrace.base.clock import Clock
from headrace.base.errors import KafkaError
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.context import RequestContext
from headrace.broker.fetch_sessions import (
    FINAL_EPOCH,
    NO_SESSION,
    FetchPosition,
    FetchSession,
    FetchSessions,
)
from headrace.broker.fetching import Fetch, FetchServices
from headrace.broker.known_requests import (
    DECLINED,
    Declined,
    KnownRequest,
    pieces,
    start_of,
)
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
_OFFSET_MARKS = (0x5E81_F3C2_9AD7_B604, 0x47C9_E2B8_81F6_930D, 0x63D4_A9F7_C0B2_8E15)
_RECORDS_MARK = b"\xd7records\xb1"
_EPOCH = Struct(">i")
_EPOCH_MARK = 0x6BF1_93A7
_OFFSET = Struct(">q")
_OFFSET_MARK = 0x71C5_E80D_B9A2_F346
#: More than this is not worth another copy; `Fetch` sends it in pieces or from its file.
_SIZE_MAX: Final = 32 * 1024
#: Who waits longer is not known: a timer may outlive its connection.
WAIT_MAX_MS: Final = 5_000
#: The least that a timer can be set to.
_TIMER_STEP_MS: Final = 1.0
_READ: Final = Operation.READ
_TOPIC: Final = ResourceType.TOPIC


class KnownFetchServices(FetchServices, Protocol):
    """What fetches need of the node where they are known."""

    sessions: FetchSessions
    clock: Clock


class KnownFetch(KnownRequest):
    """The next read of a partition of which everything but the offset is known."""

    __slots__ = ("_again", "_parts", "_services", "_session", "_split")

    def __init__(
        self,
        services: KnownFetchServices,
        context: RequestContext,
        request: FetchRequest,
        frame: memoryview,
        position: int,
        session: FetchSession | None,
        siblings: dict[int, Partition],
    ) -> None:
        version = context.api_version
        asked = request.topics[0].partitions[0]
        request.session_epoch, asked.fetch_offset = _EPOCH_MARK, _OFFSET_MARK
        before, middle, ending = pieces(
            request, version, _EPOCH.pack(_EPOCH_MARK), _OFFSET.pack(_OFFSET_MARK)
        )
        super().__init__(version, start_of(frame, position) + before)
        self._parts = (middle, ending)
        self._split = Struct(f">i{len(middle)}sq{len(ending)}s")
        self._services = services
        self._session = session
        self._again = _FetchAgain(services, context, request, session, siblings)

    def is_repeated_by(self, frame: memoryview) -> bool:
        """Whether a frame has this shape, whatever its offset."""
        differs_at = self.differs_at
        return (
            len(frame) == differs_at + self._split.size
            and frame[differs_at - len(self.signature) : differs_at] == self.signature
            and self._split.unpack_from(frame, differs_at)[1::2] == self._parts
        )

    def serve(self, frame: memoryview) -> Reply | Parked | Declined:
        if len(frame) != self.differs_at + self._split.size:
            return DECLINED
        epoch, middle, offset, ending = self._split.unpack_from(frame, self.differs_at)
        again = self._again
        if (
            (middle, ending) != self._parts
            or again.is_waiting
            or not again.is_as_known()
            or not self._resume(epoch)
        ):
            return DECLINED
        return again.begin(epoch, offset)

    def _resume(self, epoch: int) -> bool:
        """Go on with the session, if that is still this partition's alone."""
        session = self._session
        if session is None:
            return epoch == FINAL_EPOCH
        services = self._services
        sessions = services.sessions
        positions = session.positions
        if (
            sessions.get(session.session_id) is not session
            or len(positions) != 1
            or self._again.position not in positions.values()
        ):
            return False
        now_ms = services.clock.mono_ms()
        sessions.resume(session.session_id, epoch, session.uses_ids, now_ms)
        return True


class _FetchAgain(Fetch):
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
        self._waiting_on = [self._partition]
        self._is_committed = request.isolation_level == READ_COMMITTED
        self._bytes_max = min(asked.partition_max_bytes, request.max_bytes, services.bytes_max)
        self._bytes_min = self._bytes_wanted()
        self._clock = services.clock
        self._deadline_ms = 0.0
        self._is_timed = False
        self._answer_start, self._answer_middle, self._answer_end = pieces(
            _answer(request, session),
            context.api_version,
            _OFFSETS.pack(*_OFFSET_MARKS),
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
        end = self._partition.readable_end(self._request.isolation_level)
        self._missing_bytes = wanted = self._bytes_min
        return self.position.fetch_offset == end and wanted > 0

    def try_answer(self) -> FetchResponse | bytes | None:
        answer = None
        # Much may have changed while it waited.
        if not self.is_waiting or self.is_as_known():
            answer = self._read_known()
        return answer or super().try_answer()

    def _read_known(self) -> bytes | None:
        """The answer with what there is to read, if it is enough and not too much to copy."""
        partition, position = self._partition, self.position
        log, offset = partition.log, position.fetch_offset
        high_watermark, last_stable = partition.high_watermark, partition.last_stable_offset
        stop = last_stable if self._is_committed else high_watermark
        try:
            records = self._read_up_to(stop)
            if self._is_committed and log.aborted_transactions(offset, stop):
                return None
        except KafkaError:
            return None
        if not records or len(records) < self._bytes_min:
            return None
        position.high_watermark = high_watermark
        position.log_start_offset = log.log_start_offset
        self._services.reader.count(partition.topic, len(records))
        return b"".join(
            (
                self._answer_start,
                _OFFSETS.pack(high_watermark, last_stable, log.log_start_offset),
                self._answer_middle,
                write_uvarint(len(records) + 1),
                records,
                self._answer_end,
            )
        )

    def _read_up_to(self, stop: int) -> Buffer | None:
        """All there is to read, unless it is more than a little."""
        partition, offset = self._partition, self.position.fetch_offset
        if partition.newest is not None:
            first, following, records = partition.newest
            # Where it is the only one, its size does not matter: one batch is always sent.
            if first == offset and following == stop and len(records) < _SIZE_MAX:
                return records
        read = partition.log.read_or_slice(
            offset, self._bytes_max, end_offset=stop, at_least_one=True, lazy_from=_SIZE_MAX
        )
        return read if isinstance(read, bytes) else None

    # One timer serves one wait after the other: most of them end long before it.

    def _set_timer(self) -> None:
        self._deadline_ms = self._clock.mono_ms() + self._request.max_wait_ms
        if not self._is_timed:
            self._is_timed = True
            self._services.scheduler.call_later(self._request.max_wait_ms, self._on_timer)

    def _on_timer(self) -> None:
        left_ms = self._deadline_ms - self._clock.mono_ms()
        self._is_timed = left_ms > 0 and self.is_waiting
        if self._is_timed:
            self._services.scheduler.call_later(max(left_ms, _TIMER_STEP_MS), self._on_timer)
        elif self.is_waiting:
            self._finish()

    def _stop_timer(self) -> None:
        """It goes on, for the next wait."""


def _position(request: FetchRequest, session: FetchSession | None) -> FetchPosition:
    """Where this client stands: its session's note, or one of our own if it has none."""
    if session is not None:
        return next(iter(session.positions.values()))
    topic = request.topics[0]
    return FetchPosition(topic.topic or topic.topic_id, topic.partitions[0].partition)


def _answer(request: FetchRequest, session: FetchSession | None) -> FetchResponse:
    """The answer with records, and with marks for all that differs."""
    high_watermark, last_stable, log_start = _OFFSET_MARKS
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
