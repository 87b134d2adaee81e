"""InitProducerId with a transactional id: a producer takes the id over from whoever had it."""

from __future__ import annotations

from collections.abc import Callable

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import Outcome
from headrace.transactions.config import TransactionConfig
from headrace.transactions.effects import TransactionOutcome
from headrace.transactions.ending import Ending
from headrace.transactions.requests import InitProducer
from headrace.transactions.states import ENDING, TransactionState
from headrace.transactions.store import TransactionStore
from headrace.transactions.transaction import (
    NO_EPOCH,
    ProducerIdentity,
    Transaction,
    is_exhausted,
)

#: The next free producer id; raises `KafkaError` if none is at hand for the moment.
TakeProducerId = Callable[[], int]


class Initialization:
    """Gives producers their ids and epochs, and so fences those that came before them."""

    def __init__(
        self,
        config: TransactionConfig,
        store: TransactionStore,
        ending: Ending,
        take_producer_id: TakeProducerId,
    ) -> None:
        self._config = config
        self._store = store
        self._ending = ending
        self._take_producer_id = take_producer_id

    def handle(self, token: int, request: InitProducer, now_ms: int) -> TransactionOutcome:
        if not request.transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "A transactional id cannot be empty.")
        if not 0 < request.timeout_ms <= self._config.timeout_ms_max:
            raise KafkaError(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        current = self._store.get(request.transactional_id)
        if current is None:
            current = self._new(request)
        elif current.state in ENDING:
            # Soon over: the producer asks again.
            raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
        if request.expected is not None and not _may_go_on(current, request.expected):
            raise KafkaError(ErrorCode.PRODUCER_FENCED)
        if current.state is TransactionState.ONGOING:
            # What the old producer left open is aborted first, under an epoch that fences it.
            return self._ending.fence(
                current, now_ms, [(token, KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS))]
            )
        after = self._next(current, request, now_ms)
        return Outcome(records=[(after.transactional_id, after)], replies=[(token, after.identity)])

    def _new(self, request: InitProducer) -> Transaction:
        return Transaction(
            transactional_id=request.transactional_id,
            producer_id=self._take_producer_id(),
            producer_epoch=NO_EPOCH,
            timeout_ms=request.timeout_ms,
        )

    def _next(self, current: Transaction, request: InitProducer, now_ms: int) -> Transaction:
        expected_epoch = None if request.expected is None else request.expected.producer_epoch
        is_latest = expected_epoch is None or expected_epoch == current.producer_epoch
        if is_latest and is_exhausted(current.producer_epoch):
            return current.rotated(
                self._take_producer_id(), request.timeout_ms, expected_epoch is not None, now_ms
            )
        return current.initialized(request.timeout_ms, expected_epoch, now_ms)


def _may_go_on(current: Transaction, expected: ProducerIdentity) -> bool:
    """Whether the producer is the one that had the id last; its epoch is looked at later."""
    return (
        current.producer_epoch == NO_EPOCH
        or expected.producer_id == current.producer_id
        # It got a new producer id, but the response was lost.
        or (
            expected.producer_id == current.previous_producer_id
            and is_exhausted(expected.producer_epoch)
        )
    )
