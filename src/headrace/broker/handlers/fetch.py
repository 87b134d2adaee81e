"""Fetch: serves batches as they lie on disk, and waits for them where there are none yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from headrace.base.clock import Clock
from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.config import BrokerConfig
from headrace.broker.context import RequestContext
from headrace.broker.fetch_sessions import NO_SESSION, FetchPosition, FetchSession, FetchSessions
from headrace.broker.metrics import BrokerMetrics
from headrace.broker.parked import Parked, Scheduler
from headrace.broker.partitions import Partitions
from headrace.broker.wakeups import Wakeups
from headrace.protocol.apis import ApiKey
from headrace.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from headrace.protocol.schema import RecordBytes
from headrace.replication.partition import READ_COMMITTED, Partition

_TOPIC_IDS_SINCE = 13
_OFFSET_INVALID = -1


class FetchHandler:
    """Serves API key 1."""

    def __init__(
        self,
        partitions: Partitions,
        sessions: FetchSessions,
        scheduler: Scheduler,
        clock: Clock,
        config: BrokerConfig,
        metrics: BrokerMetrics,
        wakeups: Wakeups,
    ) -> None:
        self._wakeups = wakeups
        self._partitions = partitions
        self._sessions = sessions
        self._scheduler = scheduler
        self._clock = clock
        self._bytes_max = config.fetch_bytes_max
        self._metrics = metrics

    def __call__(self, context: RequestContext, request: FetchRequest) -> FetchResponse | Parked:
        uses_ids = context.api_version >= _TOPIC_IDS_SINCE
        session, positions = self._sessions.open(request, uses_ids, self._clock.mono_ms())
        fetch = _Fetch(self, context, request, session, positions)
        if fetch.read() or request.max_wait_ms <= 0:
            return fetch.respond()
        return fetch.park(self._scheduler)

    def find(self, position: FetchPosition) -> Partition:
        """The partition of a position, or Kafka's error for an unknown one."""
        topic = position.topic
        if isinstance(topic, str):
            return self._partitions.require(topic, position.index)
        partition = self._partitions.identified(topic).get(position.index)
        if partition is None:
            raise self._partitions.missing_by_id(topic, position.index)
        return partition

    def wake(self, look_again: Callable[[], None]) -> None:
        self._wakeups.add(look_again)

    @property
    def bytes_max(self) -> int:
        return self._bytes_max

    @property
    def metrics(self) -> BrokerMetrics:
        return self._metrics

    def count_failure(self, position: FetchPosition, code: ErrorCode) -> None:
        topic = position.topic
        if not isinstance(topic, str):
            siblings = self._partitions.identified(topic).values()
            topic = next((partition.topic for partition in siblings), "")
        self._metrics.topic_or_elsewhere(topic).failed_fetches += 1
        self._metrics.count_error(ApiKey.FETCH, code)


class _Fetch:
    """One Fetch request while it is being answered."""

    __slots__ = (
        "_context",
        "_handler",
        "_isolation_level",
        "_missing_bytes",
        "_parked",
        "_positions",
        "_replica_id",
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
        self._isolation_level = request.isolation_level
        replica = request.replica_state.replica_id
        self._replica_id = request.replica_id if replica < 0 else replica
        self._results: list[tuple[FetchPosition, PartitionData]] = []
        self._missing_bytes = 0
        self._woken = False

    def read(self) -> bool:
        """Read every partition; True if there is enough to answer at once."""
        self._results = results = []
        left = bytes_max = min(self._request.max_bytes, self._handler.bytes_max)
        total = 0
        is_urgent = not self._positions
        for position in self._positions:
            try:
                partition = self._handler.find(position)
                data = self._read_one(partition, position, left, is_first=total == 0)
            except KafkaError as error:
                data = self._refused(position, error)
            size = len(data.records) if data.records is not None else 0
            total += size
            left -= size
            if data.error_code or data.diverging_epoch.epoch >= 0:
                is_urgent = True
            results.append((position, data))
        # A client that wants more than it lets us send would wait for nothing.
        self._missing_bytes = min(self._request.min_bytes, bytes_max) - total
        return is_urgent or self._missing_bytes <= 0

    def _read_one(
        self, partition: Partition, position: FetchPosition, left: int, *, is_first: bool
    ) -> PartitionData:
        if not self._context.allows(Operation.READ, ResourceType.TOPIC, partition.topic):
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        if self._replica_id >= 0:
            # No other node replicates from this one yet: nobody may pose as a follower.
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        partition.require_leader(position.current_leader_epoch)
        log = partition.log
        data = PartitionData(
            partition_index=position.index,
            high_watermark=partition.high_watermark,
            last_stable_offset=partition.last_stable_offset,
            log_start_offset=log.log_start_offset,
            aborted_transactions=None,
            records=b"",
        )
        offset = position.fetch_offset
        if position.last_fetched_epoch >= 0:
            end = log.leader_epochs.end_offset_for(position.last_fetched_epoch, log.log_end_offset)
            if end.epoch < 0 or offset < log.log_start_offset:
                raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
            if end.epoch < position.last_fetched_epoch or end.start_offset < offset:
                data.diverging_epoch = EpochEndOffset(epoch=end.epoch, end_offset=end.start_offset)
                return data
        partition.check_readable(offset)
        is_committed = self._isolation_level == READ_COMMITTED
        stop = data.last_stable_offset if is_committed else data.high_watermark
        if offset < stop and (left > 0 or is_first):
            size = min(position.max_bytes, max(left, 0))
            read = log.read_or_slice(
                offset,
                size,
                end_offset=stop,
                at_least_one=is_first,
                lazy_from=self._context.connection.lazy_records_from,
            )
            # Of records the encoder takes the length and passes them on, whatever they are.
            data.records = cast(RecordBytes, read)
        if is_committed:
            data.aborted_transactions = [
                AbortedTransaction(
                    producer_id=aborted.producer_id, first_offset=aborted.first_offset
                )
                for aborted in (log.aborted_transactions(offset, stop) if data.records else ())
            ]
        return data

    def _refused(self, position: FetchPosition, error: KafkaError) -> PartitionData:
        code = error.code
        topic = position.topic
        if isinstance(topic, str) and not self._context.allows(
            Operation.READ, ResourceType.TOPIC, topic
        ):
            # Whether a topic exists is not told to those who may not read it.
            code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        self._handler.count_failure(position, code)
        data = PartitionData(
            partition_index=position.index,
            error_code=int(code),
            high_watermark=_OFFSET_INVALID,
            aborted_transactions=None,
            records=b"",
        )
        if code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
            partition = self._handler.find(position)
            data.current_leader = LeaderIdAndEpoch(
                leader_id=partition.leadership.leader,
                leader_epoch=partition.leadership.leader_epoch,
            )
        return data

    # Waiting

    def park(self, scheduler: Scheduler) -> Parked:
        """Wait until enough bytes have come or time is up."""
        self._parked = Parked()
        self._waiting_on = [self._handler.find(position) for position in self._positions]
        for partition in self._waiting_on:
            partition.data_waiters[id(self)] = self._on_data
        self._timer = scheduler.call_later(self._request.max_wait_ms, self._finish)
        self._parked.when_abandoned(self._leave)
        return self._parked

    def _on_data(self, size: int) -> None:
        self._missing_bytes -= size
        if self._missing_bytes <= 0 and not self._woken:
            self._woken = True
            # Not at once: appends to several partitions in one request are read together.
            self._handler.wake(self._look_again)

    def _look_again(self) -> None:
        """Not every new byte is for this reader: an open transaction may hold it back."""
        self._woken = False
        if not self._parked.is_done and self.read():
            self._leave()
            self._parked.complete(self.respond())

    def _leave(self) -> None:
        self._timer.cancel()
        for partition in self._waiting_on:
            partition.data_waiters.pop(id(self), None)

    def _finish(self) -> None:
        self._leave()
        if not self._parked.is_done:
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
                self._count(position, len(data.records))
                served.append((position.topic, position.index))
            elif is_incremental and not self._has_news(position, data):
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
        if session is not None:
            session.move_to_end(key for key in served if key in session.positions)
        return response

    @staticmethod
    def _has_news(position: FetchPosition, data: PartitionData) -> bool:
        if data.error_code:
            position.high_watermark = -1  # so that the next sound answer is sent
            return True
        return (
            data.high_watermark != position.high_watermark
            or data.log_start_offset != position.log_start_offset
            or data.diverging_epoch.epoch >= 0
        )

    def _count(self, position: FetchPosition, size: int) -> None:
        topic = self._handler.find(position).topic
        metrics = self._handler.metrics.topic(topic)
        metrics.fetches += 1
        metrics.bytes_out += size
