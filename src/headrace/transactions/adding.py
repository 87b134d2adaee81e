"""Partitions join a transaction before the first record is written to them.

So the coordinator knows at the end where markers are due. Producers of version 2 leave it to the
partitions to ask (KIP-890); for older ones the partitions verify that the producer did.
"""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import Outcome
from headrace.transactions.effects import TransactionOutcome
from headrace.transactions.requests import AddPartitions, PartitionErrors
from headrace.transactions.states import ENDING, TransactionState
from headrace.transactions.store import TransactionStore
from headrace.transactions.transaction import Transaction


class Adding:
    """Opens transactions, and makes them larger."""

    def __init__(self, store: TransactionStore) -> None:
        self._store = store

    def handle(self, token: int, request: AddPartitions, now_ms: int) -> TransactionOutcome:
        current = self._store.require(request.transactional_id)
        if request.verify_only:
            return self._verify(token, request, current)
        if current.state in ENDING:
            raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
        _check_producer(current, request)
        errors: PartitionErrors = dict.fromkeys(request.partitions, ErrorCode.NONE)
        outcome: TransactionOutcome = Outcome(replies=[(token, errors)])
        is_open = current.state is TransactionState.ONGOING
        if not is_open or not request.partitions <= current.partitions:
            after = current.with_partitions(request.partitions, request.client_version, now_ms)
            outcome.records.append((after.transactional_id, after))
        return outcome

    def _verify(
        self, token: int, request: AddPartitions, current: Transaction
    ) -> TransactionOutcome:
        _check_producer(current, request)
        if current.state in ENDING:
            raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
        errors = {
            partition: ErrorCode.NONE
            if partition in current.partitions
            else ErrorCode.TRANSACTION_ABORTABLE
            for partition in request.partitions
        }
        return Outcome(replies=[(token, errors)])


def _check_producer(current: Transaction, request: AddPartitions) -> None:
    if request.producer.producer_id != current.producer_id:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if request.producer.producer_epoch != current.producer_epoch:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
