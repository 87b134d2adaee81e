"""One partition of an internal topic, with the coordinator whose state it holds.

Events go to the coordinator one at a time. What an event wants written is appended as one batch;
only when that is committed is it applied, are the replies sent, and is the next event looked at.
So the state is always exactly what a replay of the log would give.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Any, Protocol

from headrace.base.clock import Clock
from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import CancelTimer, Outcome
from headrace.broker.parked import Scheduler, TimerHandle
from headrace.log.append import AppendOrigin
from headrace.records.batch import BatchHeader
from headrace.records.builder import build_batch
from headrace.records.record import Record
from headrace.replication.partition import Partition

logger = logging.getLogger(__name__)

#: Gets a response, or the error that kept its records from being written.
Reply = Callable[[Any], None]
#: Something that happens to a coordinator; gets the coordinator's clock.
Event = Callable[[int], Outcome[Any, Any]]

#: How clients are told that the log of a coordinator could not be written (as Kafka maps them).
_WRITE_ERRORS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


class Coordinator(Protocol):
    """The pure part."""

    def apply(self, key: Any, value: Any, producer_id: int) -> None:
        """Take over a committed record; `producer_id` is -1 outside of transactions."""
        ...

    def apply_marker(self, producer_id: int, committed: bool) -> None:
        """A producer's transaction ended: its records so far count, or never were."""
        ...

    def timer_expired(self, name: str, now_ms: int) -> Outcome[Any, Any]: ...

    def loaded(self, now_ms: int) -> Outcome[Any, Any]:
        """All records have been applied: set timers, expect members to come back."""
        ...


class RecordCodec(Protocol):
    """How records of the internal topic look in bytes."""

    def encode(self, key: Any, value: Any) -> tuple[bytes, bytes | None]: ...

    def decode(self, key: bytes, value: bytes | None) -> tuple[Any, Any] | None:
        """Key and value, or None for a kind of record that a newer version wrote."""
        ...


class ShardState(Enum):
    """A coordinator answers only when it has read its log to the end."""

    LOADING = "loading"
    ACTIVE = "active"
    CLOSED = "closed"


class Shard:
    """Runs one coordinator."""

    def __init__(
        self,
        coordinator: Any,
        codec: RecordCodec,
        partition: Partition,
        scheduler: Scheduler,
        clock: Clock,
    ) -> None:
        self.coordinator = coordinator
        self.codec = codec
        self.partition = partition
        self.state = ShardState.LOADING
        self._scheduler = scheduler
        self._clock = clock
        self._events: deque[Event] = deque()
        self._is_running = False
        self._timers: dict[str, TimerHandle] = {}
        self._waiting: dict[int, Reply] = {}
        self._next_token = 0

    def require_active(self) -> None:
        """Kafka's error while the log is being read, or after somebody else took over."""
        if self.state is ShardState.LOADING:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        if self.state is ShardState.CLOSED:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)

    def activate(self) -> None:
        """The log has been read: from now on requests are served."""
        self.state = ShardState.ACTIVE
        self._add(self.coordinator.loaded)

    def close(self) -> None:
        """Leadership or the topic is gone; whoever waits asks the new coordinator."""
        self.state = ShardState.CLOSED
        self._events.clear()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        waiting, self._waiting = self._waiting, {}
        for reply in waiting.values():
            reply(KafkaError(ErrorCode.NOT_COORDINATOR))

    def submit(self, event: Callable[[int, int], Outcome[Any, Any]], reply: Reply) -> int:
        """Run `event(token, now_ms)`; `reply` gets the response that it makes, now or later."""
        self.require_active()
        token = self._next_token
        self._next_token += 1
        self._waiting[token] = reply
        self._add(lambda now_ms: event(token, now_ms))
        return token

    def forget(self, token: int) -> None:
        """The client is gone; its answer is not wanted any more."""
        self._waiting.pop(token, None)

    def _add(self, event: Event) -> None:
        self._events.append(event)
        if not self._is_running:
            self._run()

    def _run(self) -> None:
        self._is_running = True
        while self._events and self.state is ShardState.ACTIVE:
            event = self._events.popleft()
            try:
                outcome = event(self._clock.wall_ms())
            except Exception:  # the edge of one event: the group suffers, the node does not
                logger.exception("a coordinator failed on %s", self.partition.topic)
                continue
            if not self._carry_out(outcome):
                return  # goes on when the records are committed
        self._is_running = False

    def _carry_out(self, outcome: Outcome[Any, Any]) -> bool:
        """True if everything is done; False if it waits for replication."""
        if not outcome.records:
            self._finish(outcome)
            return True
        try:
            last_offset = self._append(outcome)
        except KafkaError as error:
            code = _WRITE_ERRORS.get(error.code, error.code)
            for token, _ in outcome.replies:
                self._reply(token, KafkaError(code, error.message))
            return True
        if self.partition.high_watermark > last_offset:
            self._commit(outcome)
            return True

        def committed() -> None:
            if self.state is ShardState.ACTIVE:
                self._commit(outcome)
                self._run()

        self.partition.replication_waiters.append((last_offset + 1, committed))
        return False

    def _append(self, outcome: Outcome[Any, Any]) -> int:
        now_ms = self._clock.wall_ms()
        producer_id, producer_epoch = outcome.producer or (-1, -1)
        records = []
        for index, (key, value) in enumerate(outcome.records):
            key_bytes, value_bytes = self.codec.encode(key, value)
            records.append(Record(index, now_ms, key_bytes, value_bytes, ()))
        batch = build_batch(
            records,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            transactional=outcome.producer is not None,
        )
        if len(batch) > self.partition.log.config.max_message_bytes:
            raise KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE)
        header = BatchHeader(batch, 0)
        return self.partition.append(
            memoryview(batch), header, now_ms, AppendOrigin.COORDINATOR
        ).last_offset

    def _commit(self, outcome: Outcome[Any, Any]) -> None:
        producer_id = -1 if outcome.producer is None else outcome.producer[0]
        for key, value in outcome.records:
            self.coordinator.apply(key, value, producer_id)
        self._finish(outcome)

    def _finish(self, outcome: Outcome[Any, Any]) -> None:
        for change in outcome.timers:
            timer = self._timers.pop(change.name, None)
            if timer is not None:
                timer.cancel()
            if not isinstance(change, CancelTimer):
                self._set_timer(change.name, change.at_ms)
        for token, response in outcome.replies:
            self._reply(token, response)

    def _reply(self, token: int, response: Any) -> None:
        reply = self._waiting.pop(token, None)
        if reply is not None:
            reply(response)

    def _set_timer(self, name: str, at_ms: float) -> None:
        def expire() -> None:
            self._timers.pop(name, None)
            self._add(lambda now_ms: self.coordinator.timer_expired(name, now_ms))

        delay_ms = max(0.0, at_ms - self._clock.wall_ms())
        self._timers[name] = self._scheduler.call_later(delay_ms, expire)
