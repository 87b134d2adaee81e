"""What becomes of an outcome: written as one batch, applied once that is committed, answered.

Outcomes that are not atomic may be written in part; the part then counts like an outcome of its
own, since a replay of the log would find it too. What is too much for one turn of the loop goes
the same way in steps.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from typing import Any, Protocol

from headrace.base.errors import KafkaError
from headrace.base.outcome import Outcome
from headrace.broker.coordination.events import Event
from headrace.broker.coordination.long_work import Soon, in_steps
from headrace.broker.coordination.records_log import PartlyWritten, RecordsLog
from headrace.broker.coordination.timers import Timers
from headrace.broker.coordination.waiting import Waiting
from headrace.replication.partition import Partition

logger = logging.getLogger(__name__)

#: Outcomes with more records and timers than this are carried out in steps,
_SMALL_MAX = 2_000
#: each of so many records or timers: a few milliseconds.
_CHANGES_AT_ONCE = 500


class Owner(Protocol):
    """Whose coordinator it is."""

    coordinator: Any

    def is_active(self) -> bool:
        """Whether what was begun is still to be ended."""
        ...

    def happens_next(self, event: Event) -> None:
        """Before all other events."""
        ...

    def go_on(self) -> None:
        """An outcome that took its time is carried out."""
        ...

    def perform(self, effect: Any) -> None: ...

    def close(self) -> None: ...


class Outcomes:
    """Carries out the outcomes of one coordinator, one at a time."""

    def __init__(
        self,
        owner: Owner,
        partition: Partition,
        log: RecordsLog,
        timers: Timers,
        waiting: Waiting,
        soon: Soon,
    ) -> None:
        self._owner = owner
        self._partition = partition
        self._log = log
        self._timers = timers
        self._waiting = waiting
        self._soon = soon

    def carry_out(self, outcome: Outcome[Any, Any]) -> bool:
        """True if everything is done; False if it goes on later, and ends with `go_on`."""
        if len(outcome.records) + len(outcome.timers) > _SMALL_MAX:
            self._carry_out_in_steps(outcome)
            return False
        if not outcome.records and outcome.ends is None:
            self._finish(outcome)
            return True
        try:
            last_offset = self._log.append(outcome)
        except PartlyWritten as partly:
            self._refuse(outcome, partly)
            outcome, last_offset = partly.written(outcome), partly.last_offset
        except KafkaError as error:
            self._refuse(outcome, error)
            return True
        if self._partition.high_watermark > last_offset:
            self._commit(outcome)
            return True

        def committed() -> None:
            if self._owner.is_active():
                self._commit(outcome)
                self._owner.go_on()

        self._when_committed(last_offset, committed)
        return False

    def _when_committed(self, last_offset: int, committed: Callable[[], None]) -> None:
        self._partition.replication_waiters.append((last_offset + 1, committed))

    def _refuse(self, outcome: Outcome[Any, Any], error: KafkaError) -> None:
        """Not everything was written: whoever would have had a reply hears why."""
        undo = outcome.if_failed
        if undo is not None:
            self._owner.happens_next(lambda _, now_ms: undo(error, now_ms))
            return
        if not outcome.replies:
            logger.warning(
                "%s-%d takes no records of its coordinator: %s %s",
                self._partition.topic,
                self._partition.index,
                error.code.name,
                error.message,
            )
        self._waiting.refuse(outcome.replies, error)

    def _commit(self, outcome: Outcome[Any, Any]) -> None:
        producer_id = -1 if outcome.producer is None else outcome.producer[0]
        coordinator = self._owner.coordinator
        apply = coordinator.apply
        for key, value in outcome.records:
            apply(key, value, producer_id)
        if outcome.ends is not None:
            coordinator.apply_marker(producer_id, outcome.ends.committed)
        self._finish(outcome)

    def _finish(self, outcome: Outcome[Any, Any]) -> None:
        if outcome.timers:
            self._timers.change(outcome.timers)
        self._answer(outcome)

    def _answer(self, outcome: Outcome[Any, Any]) -> None:
        for effect in outcome.effects:
            self._owner.perform(effect)
        self._waiting.answer(outcome.replies)

    # In steps; no other event happens before the last of them.

    def _carry_out_in_steps(self, outcome: Outcome[Any, Any]) -> None:
        if not outcome.records:
            self._commit_in_steps(outcome)
            return
        is_active = self._owner.is_active
        steps = self._log.append_in_steps(outcome)
        in_steps(steps, 1, self._soon, is_active, lambda result: self._written(outcome, result))

    def _written(self, outcome: Outcome[Any, Any], result: int | KafkaError) -> None:
        """`result` is the offset of the last record, or what kept the records from the log."""
        if isinstance(result, KafkaError):
            self._refuse(outcome, result)
            if not isinstance(result, PartlyWritten):
                self._owner.go_on()
                return
            outcome, result = result.written(outcome), result.last_offset
        if self._partition.high_watermark > result:
            self._commit_in_steps(outcome)
        else:
            self._when_committed(result, lambda: self._commit_in_steps(outcome))

    def _commit_in_steps(self, outcome: Outcome[Any, Any]) -> None:
        def finished(failure: KafkaError | None) -> None:
            if failure is not None:
                # With half of the records applied nothing that it says could be trusted.
                self._owner.close()
            else:
                self._owner.go_on()

        in_steps(self._changes(outcome), 1, self._soon, self._owner.is_active, finished)

    def _changes(self, outcome: Outcome[Any, Any]) -> Generator[None, None, None]:
        producer_id = -1 if outcome.producer is None else outcome.producer[0]
        apply = self._owner.coordinator.apply
        for start in range(0, len(outcome.records), _CHANGES_AT_ONCE):
            for key, value in outcome.records[start : start + _CHANGES_AT_ONCE]:
                apply(key, value, producer_id)
            yield
        for start in range(0, len(outcome.timers), _CHANGES_AT_ONCE):
            self._timers.change(outcome.timers[start : start + _CHANGES_AT_ONCE])
            yield
        self._answer(outcome)
