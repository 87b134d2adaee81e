"""AddOffsetsToTxn: a producer of the old protocol is about to commit a group's offsets.

What joins the transaction is the partition of `__consumer_offsets` that the group lives in.
"""

from __future__ import annotations

from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation
from headrace.broker.context import RequestContext
from headrace.broker.coordination.groups import Groups, require_group
from headrace.broker.coordination.transactions import Transactions, for_version, may_write
from headrace.broker.parked import Parked
from headrace.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from headrace.transactions.requests import AddPartitions
from headrace.transactions.transaction import ProducerIdentity, TopicPartition

_KNOWS_FENCED_SINCE = 2


class AddOffsetsToTxnHandler:
    """Serves API key 25."""

    def __init__(self, transactions: Transactions, groups: Groups) -> None:
        self._transactions = transactions
        self._groups = groups

    def __call__(
        self, context: RequestContext, request: AddOffsetsToTxnRequest
    ) -> AddOffsetsToTxnResponse | Parked:
        if not may_write(context, request.transactional_id):
            raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        require_group(context, Operation.READ, request.group_id)
        topic = self._groups.coordinators.topic
        index = self._groups.coordinators.partition_of(request.group_id)
        if index is None:
            # Whoever looks for the group's coordinator makes the topic.
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        parked = Parked()

        def answer(reply: Any) -> None:
            code = ErrorCode.NONE
            if isinstance(reply, KafkaError):
                code = for_version(reply, context.api_version, _KNOWS_FENCED_SINCE)
            parked.complete(AddOffsetsToTxnResponse(error_code=int(code)))

        self._transactions.ask(
            AddPartitions(
                request.transactional_id,
                ProducerIdentity(request.producer_id, request.producer_epoch),
                frozenset({TopicPartition(topic, index)}),
                client_version=0,
            ),
            answer,
        )
        return parked
