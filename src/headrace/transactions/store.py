"""The transactional ids of one coordinator; changed by applied records and by nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.base.errors import ErrorCode, KafkaError
from headrace.transactions.states import ENDING, TransactionState
from headrace.transactions.transaction import Transaction


class TransactionStore:
    """By transactional id, with those that need attention apart."""

    __slots__ = ("_all", "ending", "ongoing")

    def __init__(self) -> None:
        self._all: dict[str, Transaction] = {}
        self.ongoing: dict[str, Transaction] = {}
        self.ending: dict[str, Transaction] = {}

    def __iter__(self) -> Iterator[Transaction]:
        return iter(self._all.values())

    def __len__(self) -> int:
        return len(self._all)

    def get(self, transactional_id: str) -> Transaction | None:
        return self._all.get(transactional_id)

    def require(self, transactional_id: str) -> Transaction:
        """The transaction of a request; an id that is not known belongs to no producer."""
        if not transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "A transactional id cannot be empty.")
        transaction = self._all.get(transactional_id)
        if transaction is None:
            raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        return transaction

    def apply(self, transactional_id: str, transaction: Transaction | None) -> None:
        self.ongoing.pop(transactional_id, None)
        self.ending.pop(transactional_id, None)
        if transaction is None:
            self._all.pop(transactional_id, None)
            return
        self._all[transactional_id] = transaction
        if transaction.state is TransactionState.ONGOING:
            self.ongoing[transactional_id] = transaction
        elif transaction.state in ENDING:
            self.ending[transactional_id] = transaction
