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
from headrace.base.outcome import CancelTimer, EndTransaction, Outcome
from headrace.broker.coordination.records_log import RecordCodec, RecordsLog
from headrace.broker.coordination.timers import Timers
from headrace.broker.parked import Scheduler
from headrace.replication.partition import Partition

logger = logging.getLogger(__name__)

#: Gets a response, or the error that kept its records from being written.
Reply = Callable[[Any], None]
#: Carries out one of `Outcome.effects` for a shard.
Perform = Callable[["Shard", Any], None]
#: Something that happens to a coordinator; gets the wall clock.
Event = Callable[[int], Outcome[Any, Any]]


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
        perform: Perform | None = None,
    ) -> None:
        self._perform = perform
        self.coordinator = coordinator
        self.codec = codec
        self.partition = partition
        self.state = ShardState.LOADING
        self._clock = clock
        self._log = RecordsLog(partition, codec, clock)
        self._events: deque[Event] = deque()
        self._is_running = False
        self._timers = Timers(scheduler, clock, self._timer_expired)
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
        if self.state is ShardState.LOADING:
            self.state = ShardState.ACTIVE
            self._events.appendleft(self.coordinator.loaded)
            self._run()

    def close(self) -> None:
        """Leadership or the topic is gone; whoever waits asks the new coordinator."""
        self.state = ShardState.CLOSED
        self._events.clear()
        self._timers.close()
        waiting, self._waiting = self._waiting, {}
        for reply in waiting.values():
            reply(KafkaError(ErrorCode.NOT_COORDINATOR))

    def submit(self, event: Callable[[int, int], Outcome[Any, Any]], reply: Reply) -> int:
        """Run `event(token, now_ms)`; `reply` gets the response that it makes, now or later."""
        self.require_active()
        token = self._next_token
        self._next_token += 1
        self._waiting[token] = reply

        def run(now_ms: int) -> Outcome[Any, Any]:
            try:
                return event(token, now_ms)
            except KafkaError as error:
                return Outcome(replies=[(token, error)])
            except Exception:  # the edge of one request: its sender hears of it
                logger.exception("a coordinator of %s failed", self.partition.topic)
                unknown = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
                return Outcome(replies=[(token, unknown)])

        self.post(run)
        return token

    def post(self, event: Event) -> None:
        """Run an event that nobody waits for; while the log is being read, it waits for that."""
        if self.state is ShardState.CLOSED:
            return
        self._events.append(event)
        if not self._is_running and self.state is ShardState.ACTIVE:
            self._run()

    def forget(self, token: int) -> None:
        """The client is gone; its answer is not wanted any more."""
        self._waiting.pop(token, None)

    def end_transaction(
        self, producer_id: int, producer_epoch: int, marker: EndTransaction, reply: Reply
    ) -> int:
        """Write a transaction marker after the records so far and apply it.

        `reply` gets None once it is committed, or the `KafkaError`.
        """
        producer = (producer_id, producer_epoch)
        return self.submit(
            lambda token, now_ms: Outcome(producer=producer, ends=marker, replies=[(token, None)]),
            reply,
        )

    def _run(self) -> None:
        self._is_running = True
        while self._events and self.state is ShardState.ACTIVE:
            event = self._events.popleft()
            try:
                outcome = event(self._clock.wall_ms())
            except Exception:  # the edge of one event: the group suffers, the node does not
                logger.exception("a coordinator of %s failed", self.partition.topic)
                continue
            if not self._carry_out(outcome):
                return  # goes on when the records are committed
        self._is_running = False

    def _carry_out(self, outcome: Outcome[Any, Any]) -> bool:
        """True if everything is done; False if it waits for replication."""
        if not outcome.records and outcome.ends is None:
            self._finish(outcome)
            return True
        try:
            last_offset = self._log.append(outcome)
        except KafkaError as error:
            self._refuse(outcome, error)
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

    def _refuse(self, outcome: Outcome[Any, Any], error: KafkaError) -> None:
        """Nothing was written: whoever would have had a reply hears why."""
        if outcome.if_failed is not None:
            undo = outcome.if_failed
            self._events.appendleft(lambda now_ms: undo(error, now_ms))
            return
        for token, _ in outcome.replies:
            self._reply(token, error)

    def _commit(self, outcome: Outcome[Any, Any]) -> None:
        producer_id = -1 if outcome.producer is None else outcome.producer[0]
        for key, value in outcome.records:
            self.coordinator.apply(key, value, producer_id)
        if outcome.ends is not None:
            self.coordinator.apply_marker(producer_id, outcome.ends.committed)
        self._finish(outcome)

    def _finish(self, outcome: Outcome[Any, Any]) -> None:
        for change in outcome.timers:
            if isinstance(change, CancelTimer):
                self._timers.cancel(change.name)
            else:
                self._timers.set(change.name, change.at_ms)
        if self._perform is not None:
            for effect in outcome.effects:
                self._perform(self, effect)
        for token, response in outcome.replies:
            self._reply(token, response)

    def _reply(self, token: int, response: Any) -> None:
        reply = self._waiting.pop(token, None)
        if reply is not None:
            reply(response)

    def _timer_expired(self, name: str) -> None:
        self.post(lambda now_ms: self.coordinator.timer_expired(name, now_ms))
