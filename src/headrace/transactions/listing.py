"""DescribeTransactions and ListTransactions: how transactions look to Kafka's tools (KIP-664).

There may be a million ids, and an expression may take long for each of them; so a list is made in
steps, which tell what they cost.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Any, NamedTuple

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.linear_regex import match_cost
from headrace.protocol.messages import describe_transactions, list_transactions
from headrace.transactions.states import TransactionState
from headrace.transactions.transaction import Transaction

#: Microseconds for a look at a transaction.
_LOOK_COST = 1
#: A single match that costs more is refused: it cannot be cut into steps, and ids can have 32 KB.
#: An expression of 1,500 instructions may still be matched with ids of 8 KB.
_MATCH_COST_MAX = 50_000


class Filter(NamedTuple):
    """Which transactions are asked for; empty means all."""

    producer_ids: frozenset[int] = frozenset()
    #: None: whatever the state. An empty set is what only unknown states come to.
    states: frozenset[TransactionState] | None = None
    #: Open, or ended, for longer than this; -1: whatever the age.
    duration_ms: int = -1
    #: A compiled expression for the whole transactional id.
    pattern: Any = None

    def takes(self, transaction: Transaction, now_ms: int) -> bool:
        """Whatever its id."""
        if self.producer_ids and transaction.producer_id not in self.producer_ids:
            return False
        if self.states is not None and transaction.state not in self.states:
            return False
        return self.duration_ms < 0 or now_ms - transaction.start_ms > self.duration_ms


def listed(
    transactions: Iterable[Transaction],
    wanted: Filter,
    may_see: Callable[[str], bool],
    now_ms: int,
) -> Generator[int, None, list[list_transactions.TransactionState]]:
    """Yields the cost of each look, in microseconds."""
    found = []
    pattern = wanted.pattern
    for transaction in transactions:
        cost = _LOOK_COST
        if wanted.takes(transaction, now_ms):
            transactional_id = transaction.transactional_id
            is_match = True
            if pattern is not None:
                encoded = transactional_id.encode()
                cost += _affordable(match_cost(pattern, len(encoded)))
                is_match = pattern.fullmatch(encoded) is not None
            if is_match and may_see(transactional_id):
                cost += _LOOK_COST
                found.append(
                    list_transactions.TransactionState(
                        transactional_id=transactional_id,
                        producer_id=transaction.producer_id,
                        transaction_state=transaction.state.label,
                    )
                )
        yield cost
    return found


def _affordable(cost: int) -> int:
    if cost > _MATCH_COST_MAX:
        raise KafkaError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            "Transaction ID pattern is too large for the longest of the ids.",
        )
    return cost


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
