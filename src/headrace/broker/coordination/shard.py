"""One partition of an internal topic, with the coordinator whose state it holds.

Events go to the coordinator one at a time. What an event wants written is appended, and only when
that is committed is it applied, are the replies sent, and is the next event looked at (see
`outcomes`). So the state is always exactly what a replay of the log would give.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from enum import Enum
from functools import partial
from typing import Any

from headrace.base.clock import Clock
from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import EndTransaction, Outcome
from headrace.broker.coordination.events import Event, Events, Queued, merged
from headrace.broker.coordination.long_work import Soon, in_steps
from headrace.broker.coordination.outcomes import Outcomes
from headrace.broker.coordination.records_log import RecordCodec, RecordsLog
from headrace.broker.coordination.sharing import Sharing
from headrace.broker.coordination.timers import Timers
from headrace.broker.coordination.waiting import NOBODY, Reply, Waiting
from headrace.broker.parked import Scheduler
from headrace.records.codecs import Codec
from headrace.replication.partition import Partition

logger = logging.getLogger(__name__)

#: Carries out one of `Outcome.effects` for a shard.
Perform = Callable[["Shard", Any], None]

#: Steps of a preparation in one turn; one looks at a member or so.
_PREPARED_AT_ONCE = 100


class ShardState(Enum):
    """A coordinator answers only when it has read its log to the end."""

    LOADING = "loading"
    ACTIVE = "active"
    CLOSED = "closed"


#: Asked for with every event, and looking into an Enum is slow.
_ACTIVE = ShardState.ACTIVE


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
        compression: int = Codec.NONE,
        soon: Soon | None = None,
    ) -> None:
        """`soon` has the steps of long work done; without it they are done in every turn."""
        self._soon = soon or scheduler.call_soon
        self._perform = perform
        #: A `Coordinator`, and more than that to whoever made it.
        self.coordinator = coordinator
        self.codec = codec
        self.partition = partition
        self.state = ShardState.LOADING
        self._made_ms = clock.mono_ms()
        #: How long reading the log took; None until it has been read.
        self.load_time_ms: float | None = None
        self._clock = clock
        self._events = Events()
        self._is_running = False
        self._sharing = Sharing(scheduler.call_soon, self._run)
        self._timers = Timers(scheduler, clock, self._timer_expired, self._soon)
        self._waiting = Waiting(scheduler.call_soon)
        log = RecordsLog(partition, codec, clock, compression)
        self._outcomes = Outcomes(self, partition, log, self._timers, self._waiting, self._soon)

    @property
    def waiting_count(self) -> int:
        """Events that have not been looked at yet."""
        return len(self._events)

    def is_active(self) -> bool:
        return self.state is _ACTIVE

    def require_active(self) -> None:
        """Kafka's error while the log is being read, or after somebody else took over."""
        if self.state is _ACTIVE:
            return
        if self.state is ShardState.LOADING:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        raise KafkaError(ErrorCode.NOT_COORDINATOR)

    def activate(self) -> None:
        """The log has been read: from now on requests are served."""
        if self.state is ShardState.LOADING:
            self.state = ShardState.ACTIVE
            self.load_time_ms = self._clock.mono_ms() - self._made_ms
            self.happens_next(lambda _, now_ms: self.coordinator.loaded(now_ms))
            self._run()

    def close(self) -> None:
        """Leadership or the topic is gone; whoever waits asks the new coordinator."""
        self.state = ShardState.CLOSED
        self._events.clear()
        self._timers.close()
        self._waiting.refuse_all(KafkaError(ErrorCode.NOT_COORDINATOR))

    def submit(self, event: Event, reply: Reply, *, may_share: bool = False) -> int:
        """Run `event(token, now_ms)`; `reply` gets the response that it makes, now or later.

        `may_share` says that the event does not look at what others like it write (see `events`);
        such events may wait for each other (see `sharing`).
        """
        self.require_active()
        token = self._waiting.add(reply)
        self._events.add(event, token, may_share)
        if may_share:
            self._sharing.add()
        else:
            self._run()
        return token

    def post(self, event: Callable[[int], Outcome[Any, Any]]) -> None:
        """Run `event(now_ms)`, for which nobody waits; while the log is read, it waits for that."""
        if self.state is not ShardState.CLOSED:
            self._events.add(lambda _, now_ms: event(now_ms), NOBODY, False)
            self._run()

    def forget(self, token: int) -> None:
        """The client is gone; its answer is not wanted any more."""
        self._waiting.forget(token)

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

    def happens_next(self, event: Event) -> None:
        self._events.add_first(event, NOBODY)

    def perform(self, effect: Any) -> None:
        if self._perform is not None:
            self._perform(self, effect)

    def go_on(self) -> None:
        self._is_running = False
        self._run()

    def _run(self) -> None:
        """Let one event after the other happen, as long as none has to wait for replication."""
        if self._is_running:
            return
        self._is_running = True
        while self._events and self.state is _ACTIVE:
            now_ms = self._clock.wall_ms()
            queued = self._events.take()
            outcomes = [self._outcome(event, token, now_ms) for event, token, _ in queued]
            together = outcomes[0]
            if len(outcomes) > 1:
                together = merged(outcomes, partial(self._take_apart, outcomes))
            elif together.preparation is not None:
                self._prepare(queued[0], together.preparation)
                return
            if not self._outcomes.carry_out(together):
                return  # goes on when the records are committed
        self._is_running = False

    def _outcome(self, event: Event, token: int, now_ms: int) -> Outcome[Any, Any]:
        try:
            return event(token, now_ms)
        except Exception as error:  # the edge of one event: its sender suffers, the node does not
            if not isinstance(error, KafkaError) or token == NOBODY:
                logger.exception("a coordinator of %s failed", self.partition.topic)
                error = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
            return Outcome(replies=[(token, error)])

    def _prepare(self, queued: Queued, preparation: Generator[None, None, None]) -> None:
        """Let the event happen again after what it needs; until then no other happens."""

        def done(_: Any) -> None:
            event, token, _may_share = queued
            self._events.add_first(event, token)
            self.go_on()

        in_steps(preparation, _PREPARED_AT_ONCE, self._soon, self.is_active, done)

    def _take_apart(
        self, outcomes: list[Outcome[Any, Any]], error: KafkaError, now_ms: int
    ) -> Outcome[Any, Any]:
        """Together they could not be written: each for itself, then."""
        for outcome in reversed(outcomes):
            self.happens_next(_giving(outcome))
        return Outcome()

    def _timer_expired(self, name: str) -> None:
        def expire(now_ms: int) -> Outcome[Any, Any]:
            # A heartbeat that was in front of this in the queue has put the timer off.
            if self._timers.is_set(name):
                return Outcome()
            expired: Outcome[Any, Any] = self.coordinator.timer_expired(name, now_ms)
            return expired

        self.post(expire)


def _giving(outcome: Outcome[Any, Any]) -> Event:
    return lambda token, now_ms: outcome
