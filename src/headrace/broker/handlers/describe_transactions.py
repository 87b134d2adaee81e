"""DescribeTransactions: the state of transactional ids (KIP-664)."""

from __future__ import annotations

from collections.abc import Generator, Iterable

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.context import RequestContext
from headrace.broker.coordination.long_answers import answer_in_steps
from headrace.broker.coordination.transactions import Transactions
from headrace.broker.parked import Parked
from headrace.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from headrace.transactions.listing import described
from headrace.transactions.transaction import Transaction

#: Microseconds for a look at an id, and how many partitions are written out in one of them.
_LOOK_COST = 5
_PARTITIONS = 2


class DescribeTransactionsHandler:
    """Serves API key 65."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def __call__(self, context: RequestContext, request: DescribeTransactionsRequest) -> Parked:
        # Once each: one that is named a thousand times would be described as often.
        names = dict.fromkeys(request.transactional_ids)
        return answer_in_steps(
            self._describe_all(context, names),
            context.api_version,
            self._transactions.coordinators.turns.add,
            lambda error: DescribeTransactionsResponse(
                transaction_states=[_refused(name, error) for name in names]
            ),
        )

    def _describe_all(
        self, context: RequestContext, names: Iterable[str]
    ) -> Generator[int, None, DescribeTransactionsResponse]:
        states = []
        for name in names:
            cost = _LOOK_COST
            try:
                transaction = self._find(context, name)
            except KafkaError as error:
                states.append(_refused(name, error))
            else:
                states.append(_described(context, transaction))
                cost += len(transaction.partitions) // _PARTITIONS
            yield cost
        return DescribeTransactionsResponse(transaction_states=states)

    def _find(self, context: RequestContext, transactional_id: str) -> Transaction:
        kind = ResourceType.TRANSACTIONAL_ID
        if not context.allows(Operation.DESCRIBE, kind, transactional_id):
            raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        if not transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        shard = self._transactions.coordinators.shard_for(transactional_id)
        transaction: Transaction | None = shard.coordinator.get(transactional_id)
        if transaction is None:
            raise KafkaError(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
        return transaction


def _described(context: RequestContext, transaction: Transaction) -> TransactionState:
    state = described(transaction)
    state.topics = [
        topic
        for topic in state.topics
        if context.allows(Operation.DESCRIBE, ResourceType.TOPIC, topic.topic)
    ]
    return state


def _refused(transactional_id: str, error: KafkaError) -> TransactionState:
    return TransactionState(transactional_id=transactional_id, error_code=int(error.code))
