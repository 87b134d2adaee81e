"""The transaction coordinator of one partition of `__transaction_state`: pure.

Requests, records, timers and the news that markers are written come in; outcomes go out. Only
`apply` changes what it knows of transactions, at the start and while it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from headrace.base.errors import KafkaError
from headrace.base.outcome import Outcome, SetTimer
from headrace.transactions.adding import Adding
from headrace.transactions.config import TransactionConfig
from headrace.transactions.effects import TransactionOutcome, WriteMarkers
from headrace.transactions.ending import Ending
from headrace.transactions.initialization import Initialization, TakeProducerId
from headrace.transactions.requests import AddPartitions, EndTransaction, InitProducer
from headrace.transactions.store import TransactionStore
from headrace.transactions.transaction import Transaction
from headrace.transactions.upkeep import ABORT_TIMER, ENDED_AT_ONCE, EXPIRY_TIMER, Upkeep

_COMPLETE_TIMER = "complete"
_INHERITED_TIMER = "inherited"


class TransactionCoordinator:
    """Looks after the transactional ids of one partition."""

    def __init__(
        self,
        config: TransactionConfig,
        *,
        take_producer_id: TakeProducerId,
        transaction_version: Callable[[], int],
        coordinator_epoch: Callable[[], int],
    ) -> None:
        """`coordinator_epoch` is the leader epoch of the partition; markers carry it."""
        self._config = config
        self._store = TransactionStore()
        self._ending = Ending(self._store, take_producer_id, transaction_version, coordinator_epoch)
        initialization = Initialization(config, self._store, self._ending, take_producer_id)
        self._handlers: dict[type[Any], Callable[[int, Any, int], TransactionOutcome]] = {
            InitProducer: initialization.handle,
            AddPartitions: Adding(self._store).handle,
            EndTransaction: self._ending.handle,
        }
        self._upkeep = Upkeep(config, self._store, self._ending)
        #: Ids whose end was decided before this coordinator came, and is still to be carried out.
        self._inherited: Iterator[str] = iter(())
        #: Transactions whose markers are written, but whose last record could not be.
        self._marked: dict[str, WriteMarkers] = {}

    def __iter__(self) -> Iterator[Transaction]:
        return iter(self._store)

    def get(self, transactional_id: str) -> Transaction | None:
        return self._store.get(transactional_id)

    def handle(self, token: int, request: Any, now_ms: int) -> TransactionOutcome:
        """Serve a request; a refusal is the `KafkaError` in the reply."""
        try:
            outcome = self._handlers[type(request)](token, request, now_ms)
        except KafkaError as error:
            return Outcome(replies=[(token, error)])
        if outcome.records and isinstance(request, AddPartitions) and not self._store.ongoing:
            outcome.timers.append(self._upkeep.abort_check(now_ms))
        return outcome

    def apply(self, key: str, value: Transaction | None, producer_id: int) -> None:
        """Take over a committed record."""
        self._store.apply(key, value)

    def apply_marker(self, producer_id: int, committed: bool) -> None:
        """The transaction log itself has no transactions in it."""

    def loaded(self, now_ms: int) -> TransactionOutcome:
        """All records are read: finish what was decided, watch what is open."""
        self._inherited = iter(list(self._store.ending))
        outcome = self._end_inherited(now_ms)
        outcome.timers.append(self._upkeep.expiry_check(now_ms))
        if self._store.ongoing:
            outcome.timers.append(self._upkeep.abort_check(now_ms))
        return outcome

    def markers_written(self, marked: WriteMarkers, now_ms: int) -> TransactionOutcome:
        """The effect of `WriteMarkers` is complete."""
        outcome = self._ending.complete(marked, now_ms)

        def failed(error: KafkaError, failed_ms: int) -> TransactionOutcome:
            self._marked[marked.transactional_id] = marked
            at_ms = failed_ms + self._config.completion_retry_ms
            return Outcome(timers=[SetTimer(_COMPLETE_TIMER, at_ms)])

        outcome.if_failed = failed
        return outcome

    def timer_expired(self, name: str, now_ms: int) -> TransactionOutcome:
        if name == ABORT_TIMER:
            return self._upkeep.abort_late(now_ms)
        if name == EXPIRY_TIMER:
            return self._upkeep.expire(now_ms)
        if name == _INHERITED_TIMER:
            return self._end_inherited(now_ms)
        return self._complete_marked(now_ms)

    def _end_inherited(self, now_ms: int) -> TransactionOutcome:
        """Have the markers of some written, and of the others after somebody had a turn."""
        outcome: TransactionOutcome = Outcome()
        some = list(islice(self._inherited, ENDED_AT_ONCE))
        for transactional_id in some:
            transaction = self._store.ending.get(transactional_id)
            if transaction is not None:
                outcome.effects.append(self._ending.markers(transaction))
        if len(some) == ENDED_AT_ONCE:
            outcome.timers.append(SetTimer(_INHERITED_TIMER, now_ms))
        return outcome

    def _complete_marked(self, now_ms: int) -> TransactionOutcome:
        """One of them; the next one as soon as that is stored."""
        while self._marked:
            outcome = self.markers_written(self._marked.popitem()[1], now_ms)
            if outcome.records:
                if self._marked:
                    outcome.timers.append(SetTimer(_COMPLETE_TIMER, now_ms))
                return outcome
        return Outcome()
