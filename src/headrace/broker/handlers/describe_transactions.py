"""DescribeTransactions: the state of transactional ids (KIP-664)."""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.context import RequestContext
from headrace.broker.coordination.transactions import Transactions
from headrace.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from headrace.transactions.listing import described


class DescribeTransactionsHandler:
    """Serves API key 65."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def __call__(
        self, context: RequestContext, request: DescribeTransactionsRequest
    ) -> DescribeTransactionsResponse:
        return DescribeTransactionsResponse(
            transaction_states=[self._describe(context, one) for one in request.transactional_ids]
        )

    def _describe(self, context: RequestContext, transactional_id: str) -> TransactionState:
        try:
            kind = ResourceType.TRANSACTIONAL_ID
            if not context.allows(Operation.DESCRIBE, kind, transactional_id):
                raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
            if not transactional_id:
                raise KafkaError(ErrorCode.INVALID_REQUEST)
            shard = self._transactions.coordinators.shard_for(transactional_id)
            transaction = shard.coordinator.get(transactional_id)
            if transaction is None:
                raise KafkaError(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
        except KafkaError as error:
            return TransactionState(transactional_id=transactional_id, error_code=int(error.code))
        state = described(transaction)
        state.topics = [
            topic
            for topic in state.topics
            if context.allows(Operation.DESCRIBE, ResourceType.TOPIC, topic.topic)
        ]
        return state
