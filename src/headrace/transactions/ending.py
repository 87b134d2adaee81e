"""Commit and abort: the decision is stored, markers carry it to the partitions, then it is done.

With version 2 each end takes a new epoch (KIP-890). What a producer still has on its way for the
old transaction carries the old epoch and is refused, so it cannot touch the next transaction. The
price is that an epoch tells retries from new requests:

    state           abort again   abort        commit again  commit
    Empty           fenced        new epoch    fenced        invalid
    CompleteAbort   fine          new epoch    invalid       invalid
    CompleteCommit  invalid       new epoch    fine          invalid

where "again" is a request with the epoch before the current one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import Outcome
from headrace.transactions.effects import TransactionOutcome, WriteMarkers
from headrace.transactions.requests import EndTransaction
from headrace.transactions.states import ENDING, TransactionState
from headrace.transactions.store import TransactionStore
from headrace.transactions.transaction import (
    EPOCH_MAX,
    NO_PRODUCER_ID,
    ProducerIdentity,
    Transaction,
    bumps_epoch,
    is_exhausted,
)

_S = TransactionState
_FINISHED = {True: _S.COMPLETE_COMMIT, False: _S.COMPLETE_ABORT}

#: (token of a waiting request, its response).
Replies = list[tuple[int, Any]]


class Ending:
    """Takes transactions from Ongoing to Prepare, and to Complete when their markers are out."""

    def __init__(
        self,
        store: TransactionStore,
        take_producer_id: Callable[[], int],
        transaction_version: Callable[[], int],
        coordinator_epoch: Callable[[], int],
    ) -> None:
        self._store = store
        self._take_producer_id = take_producer_id
        self._transaction_version = transaction_version
        self._coordinator_epoch = coordinator_epoch

    def handle(self, token: int, request: EndTransaction, now_ms: int) -> TransactionOutcome:
        """A producer's own request."""
        current = self._store.require(request.transactional_id)
        if bumps_epoch(request.client_version):
            is_done = self._check_version_2(current, request)
        else:
            is_done = self._check_version_1(current, request)
        if is_done:
            return Outcome(replies=[(token, current.identity)])
        after = self._prepare(current, request.committed, request.client_version, now_ms)
        # The epoch that the next transaction will have.
        identity = after.completed(now_ms).identity
        return self._store_and_mark(after, [(token, identity)])

    def fence(self, current: Transaction, now_ms: int, replies: Replies) -> TransactionOutcome:
        """Abort an open transaction so that its producer cannot go on: it is late, or replaced."""
        version = self._transaction_version()
        if bumps_epoch(version):
            after = self._prepare(current, False, version, now_ms)
        else:
            after = current.fenced().prepared(False, 0, NO_PRODUCER_ID, now_ms)
        return self._store_and_mark(after, replies)

    def markers(self, transaction: Transaction) -> WriteMarkers:
        """The markers of a transaction in a Prepare state."""
        return WriteMarkers(
            transactional_id=transaction.transactional_id,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            coordinator_epoch=self._coordinator_epoch(),
            committed=transaction.state is _S.PREPARE_COMMIT,
            transaction_version=transaction.client_version,
            partitions=tuple(sorted(transaction.partitions)),
        )

    def complete(self, marked: WriteMarkers, now_ms: int) -> TransactionOutcome:
        """Every partition has its marker."""
        current = self._store.ending.get(marked.transactional_id)
        if current is None or current.identity != (marked.producer_id, marked.producer_epoch):
            return Outcome()
        after = current.completed(now_ms)
        return Outcome(records=[(after.transactional_id, after)])

    def _prepare(
        self, current: Transaction, committed: bool, client_version: int, now_ms: int
    ) -> Transaction:
        next_producer_id = NO_PRODUCER_ID
        if bumps_epoch(client_version) and is_exhausted(current.producer_epoch):
            next_producer_id = self._take_producer_id()
        return current.prepared(committed, client_version, next_producer_id, now_ms)

    def _store_and_mark(self, after: Transaction, replies: Replies) -> TransactionOutcome:
        return Outcome(
            records=[(after.transactional_id, after)],
            replies=replies,
            effects=[self.markers(after)],
        )

    def _check_version_2(self, current: Transaction, request: EndTransaction) -> bool:
        """True if it has happened already; raises unless it may happen now."""
        if current.state in ENDING:
            raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
        producer_id, epoch = request.producer
        is_retry = current.producer_epoch == epoch + 1
        is_retry_of_last = _is_retry_of_last_epoch(current, request.producer)
        if current.producer_id != producer_id and not is_retry_of_last:
            raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        is_finished = current.state in (_S.COMPLETE_COMMIT, _S.COMPLETE_ABORT)
        if is_finished and (is_retry or is_retry_of_last):
            if current.state is _FINISHED[request.committed]:
                return True
            raise _invalid(current, request)
        if epoch != current.producer_epoch:
            raise KafkaError(ErrorCode.PRODUCER_FENCED)
        if request.committed and current.state is not _S.ONGOING:
            raise _invalid(current, request)
        return False

    def _check_version_1(self, current: Transaction, request: EndTransaction) -> bool:
        if current.producer_id != request.producer.producer_id:
            raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if current.producer_epoch != request.producer.producer_epoch:
            raise KafkaError(ErrorCode.PRODUCER_FENCED)
        if current.state in ENDING:
            raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
        if current.state is _FINISHED[request.committed]:
            return True
        if current.state is not _S.ONGOING:
            raise _invalid(current, request)
        return False


def _is_retry_of_last_epoch(current: Transaction, producer: ProducerIdentity) -> bool:
    """The end that used up a producer id is asked for again, under the old id."""
    return (
        current.previous_producer_id == producer.producer_id
        and producer.producer_epoch == EPOCH_MAX - 1
        and current.producer_epoch == 0
    )


def _invalid(current: Transaction, request: EndTransaction) -> KafkaError:
    wanted = "commit" if request.committed else "abort"
    return KafkaError(
        ErrorCode.INVALID_TXN_STATE,
        f"Cannot {wanted} a transaction of {current.transactional_id!r} in {current.state.label}.",
    )
