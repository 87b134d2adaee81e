"""DescribeTransactions and ListTransactions: how transactions look to Kafka's tools (KIP-664)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from headrace.protocol.messages import describe_transactions, list_transactions
from headrace.transactions.states import TransactionState
from headrace.transactions.transaction import Transaction


class Filter(NamedTuple):
    """Which transactions are asked for; empty means all."""

    producer_ids: frozenset[int] = frozenset()
    #: None: whatever the state. An empty set is what only unknown states come to.
    states: frozenset[TransactionState] | None = None
    #: Open, or ended, for longer than this; -1: whatever the age.
    duration_ms: int = -1
    #: Looks at the transactional id.
    matches: Callable[[str], bool] | None = None

    def takes(self, transaction: Transaction, now_ms: int) -> bool:
        if self.producer_ids and transaction.producer_id not in self.producer_ids:
            return False
        if self.states is not None and transaction.state not in self.states:
            return False
        if self.duration_ms >= 0 and now_ms - transaction.start_ms <= self.duration_ms:
            return False
        return self.matches is None or self.matches(transaction.transactional_id)


def listed(
    transactions: Iterable[Transaction], wanted: Filter, now_ms: int
) -> list[list_transactions.TransactionState]:
    return [
        list_transactions.TransactionState(
            transactional_id=transaction.transactional_id,
            producer_id=transaction.producer_id,
            transaction_state=transaction.state.label,
        )
        for transaction in transactions
        if wanted.takes(transaction, now_ms)
    ]


def described(transaction: Transaction) -> describe_transactions.TransactionState:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(transaction.partitions):
        by_topic.setdefault(topic, []).append(partition)
    return describe_transactions.TransactionState(
        transactional_id=transaction.transactional_id,
        transaction_state=transaction.state.label,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.start_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=[
            describe_transactions.TopicData(topic=topic, partitions=partitions)
            for topic, partitions in by_topic.items()
        ],
    )
