"""One partition of an internal topic, with the coordinator whose state it holds.

Events go to the coordinator one at a time. What an event wants written is appended as one batch;
only when that is committed is it applied, are the replies sent, and is the next event looked at.
So the state is always exactly what a replay of the log would give.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Sequence
from enum import Enum
from functools import partial
from typing import Any

from headrace.base.clock import Clock
from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import CancelTimer, EndTransaction, Outcome, SetTimer
from headrace.broker.coordination.events import Event, Events, merged
from headrace.broker.coordination.long_work import Soon, in_steps
from headrace.broker.coordination.records_log import RecordCodec, RecordsLog
from headrace.broker.coordination.timers import Timers
from headrace.broker.parked import Scheduler
from headrace.records.codecs import Codec
from headrace.replication.partition import Partition

logger = logging.getLogger(__name__)

#: Gets a response, or the error that kept its records from being written.
Reply = Callable[[Any], None]
#: Carries out one of `Outcome.effects` for a shard.
Perform = Callable[["Shard", Any], None]

_REPLIES_AT_ONCE = 250
#: Outcomes with more records and timers than this are carried out in steps,
_SMALL_MAX = 2_000
#: each of so many records or timers: a few milliseconds.
_CHANGES_AT_ONCE = 500
#: Steps of a preparation in one turn; one looks at a member or so.
_PREPARED_AT_ONCE = 100


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
        self._scheduler = scheduler
        self._clock = clock
        self._log = RecordsLog(partition, codec, clock, compression)
        self._events = Events()
        self._is_running = False
        #: Whether events that may share a batch wait for the end of this turn of the loop.
        self._is_gathering = False
        #: How many such events came in this turn, and whether the last turn had several.
        self._gathered = 0
        self._is_crowded = False
        self._timers = Timers(scheduler, clock, self._timer_expired)
        self._waiting: dict[int, Reply] = {}
        self._next_token = 0

    @property
    def waiting_count(self) -> int:
        """Events that have not been looked at yet."""
        return len(self._events)

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
            self.load_time_ms = self._clock.mono_ms() - self._made_ms
            self._events.add_first(self.coordinator.loaded)
            self._run()

    def close(self) -> None:
        """Leadership or the topic is gone; whoever waits asks the new coordinator."""
        self.state = ShardState.CLOSED
        self._events.clear()
        self._timers.close()
        waiting, self._waiting = self._waiting, {}
        for reply in waiting.values():
            reply(KafkaError(ErrorCode.NOT_COORDINATOR))

    def submit(
        self,
        event: Callable[[int, int], Outcome[Any, Any]],
        reply: Reply,
        *,
        may_share: bool = False,
    ) -> int:
        """Run `event(token, now_ms)`; `reply` gets the response that it makes, now or later.

        `may_share` says that the event does not look at what others like it write (see `events`).
        """
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

        self.post(run, may_share=may_share)
        return token

    def post(self, event: Event, *, may_share: bool = False) -> None:
        """Run an event that nobody waits for; while the log is being read, it waits for that."""
        if self.state is ShardState.CLOSED:
            return
        self._events.add(event, may_share)
        if may_share:
            self._gathered += 1
            if self._is_gathering:
                return
            # The first one of a turn goes at once; if more come, they go together. Where several
            # came in the last turn the first one waits for the others, to spare a write.
            self._is_gathering = True
            self._scheduler.call_soon(self._end_gathering)
            if self._is_crowded:
                return
        self._run()

    def _end_gathering(self) -> None:
        self._is_gathering = False
        self._is_crowded = self._gathered > 1
        self._gathered = 0
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
        """Let one event after the other happen, as long as none has to wait for replication."""
        if self._is_running:
            return
        self._is_running = True
        while self._events and self.state is ShardState.ACTIVE:
            now_ms = self._clock.wall_ms()
            events = self._events.take()
            outcomes = [self._outcome(event, now_ms) for event in events]
            together = outcomes[0]
            if len(outcomes) > 1:
                together = merged(outcomes, partial(self._take_apart, outcomes))
            elif together.preparation is not None:
                self._prepare(events[0], together.preparation)
                return
            if not self._carry_out(together):
                return  # goes on when the records are committed
        self._is_running = False

    def _go_on(self) -> None:
        self._is_running = False
        self._run()

    def _prepare(self, event: Event, preparation: Generator[None, None, None]) -> None:
        """Let the event happen again after what it needs; until then no other happens."""

        def done(_: Any) -> None:
            self._events.add_first(event)
            self._go_on()

        in_steps(preparation, _PREPARED_AT_ONCE, self._soon, self._is_active, done)

    def _is_active(self) -> bool:
        return self.state is ShardState.ACTIVE

    def _take_apart(
        self, outcomes: list[Outcome[Any, Any]], error: KafkaError, now_ms: int
    ) -> Outcome[Any, Any]:
        """Together they could not be written: each for itself, then."""
        for outcome in reversed(outcomes):
            self._events.add_first(_as_event(outcome))
        return Outcome()

    def _outcome(self, event: Event, now_ms: int) -> Outcome[Any, Any]:
        try:
            return event(now_ms)
        except Exception:  # the edge of one event: the group suffers, the node does not
            logger.exception("a coordinator of %s failed", self.partition.topic)
            return Outcome()

    def _carry_out(self, outcome: Outcome[Any, Any]) -> bool:
        """True if everything is done; False if it waits for replication, or takes its time."""
        if len(outcome.records) + len(outcome.timers) > _SMALL_MAX:
            self._carry_out_in_steps(outcome)
            return False
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
                self._go_on()

        self.partition.replication_waiters.append((last_offset + 1, committed))
        return False

    def _carry_out_in_steps(self, outcome: Outcome[Any, Any]) -> None:
        """The same for an outcome that is too large for one turn; others wait for its end."""

        def apply() -> None:
            steps = self._commit_in_steps(outcome)
            in_steps(steps, 1, self._soon, self._is_active, applied)

        def applied(failure: KafkaError | None) -> None:
            if failure is not None:
                self.close()  # with half of the records applied nothing it says could be trusted
            else:
                self._go_on()

        def written(last_offset: int | KafkaError) -> None:
            if isinstance(last_offset, KafkaError):
                self._refuse(outcome, last_offset)
                self._go_on()
            elif self.partition.high_watermark > last_offset:
                apply()
            else:
                self.partition.replication_waiters.append((last_offset + 1, apply))

        if outcome.records:
            steps = self._log.append_in_steps(outcome)
            in_steps(steps, 1, self._soon, self._is_active, written)
        else:
            apply()

    def _commit_in_steps(self, outcome: Outcome[Any, Any]) -> Generator[None, None, None]:
        producer_id = -1 if outcome.producer is None else outcome.producer[0]
        for start in range(0, len(outcome.records), _CHANGES_AT_ONCE):
            for key, value in outcome.records[start : start + _CHANGES_AT_ONCE]:
                self.coordinator.apply(key, value, producer_id)
            yield
        for start in range(0, len(outcome.timers), _CHANGES_AT_ONCE):
            self._change(outcome.timers[start : start + _CHANGES_AT_ONCE])
            yield
        self._answer(outcome)

    def _refuse(self, outcome: Outcome[Any, Any], error: KafkaError) -> None:
        """Nothing was written: whoever would have had a reply hears why."""
        if outcome.if_failed is not None:
            undo = outcome.if_failed
            self._events.add_first(lambda now_ms: undo(error, now_ms))
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
        self._change(outcome.timers)
        self._answer(outcome)

    def _change(self, timers: Sequence[SetTimer | CancelTimer]) -> None:
        for change in timers:
            if isinstance(change, CancelTimer):
                self._timers.cancel(change.name)
            else:
                self._timers.set(change.name, change.at_ms)

    def _answer(self, outcome: Outcome[Any, Any]) -> None:
        if self._perform is not None:
            for effect in outcome.effects:
                self._perform(self, effect)
        self._send(outcome.replies)

    def _send(self, replies: list[tuple[int, Any]], start: int = 0) -> None:
        """Answer, in parts that let others have their turn: a group may have 10,000 members."""
        end = start + _REPLIES_AT_ONCE
        for token, response in replies[start:end]:
            self._reply(token, response)
        if end < len(replies):
            self._scheduler.call_soon(lambda: self._send(replies, end))

    def _reply(self, token: int, response: Any) -> None:
        reply = self._waiting.pop(token, None)
        if reply is not None:
            reply(response)

    def _timer_expired(self, name: str) -> None:
        def expire(now_ms: int) -> Outcome[Any, Any]:
            # A heartbeat that was in front of this in the queue has put the timer off.
            if self._timers.is_set(name):
                return Outcome()
            expired: Outcome[Any, Any] = self.coordinator.timer_expired(name, now_ms)
            return expired

        self.post(expire)


def _as_event(outcome: Outcome[Any, Any]) -> Event:
    return lambda now_ms: outcome
