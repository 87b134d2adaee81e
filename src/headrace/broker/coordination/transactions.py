"""How handlers and partitions reach the transaction coordinators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.context import RequestContext
from headrace.broker.coordination.coordinators import Coordinators
from headrace.transactions.requests import AddPartitions, EndTransaction, InitProducer

AnyTransactionRequest = InitProducer | AddPartitions | EndTransaction


def may_write(context: RequestContext, transactional_id: str) -> bool:
    """Whether the sender may use a transactional id."""
    return context.allows(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id)


class Transactions:
    """The transaction coordinators of this node."""

    def __init__(self, coordinators: Coordinators) -> None:
        self.coordinators = coordinators

    def ask(self, request: AnyTransactionRequest, reply: Callable[[Any], None]) -> None:
        """Ask the coordinator of a transactional id; `reply` gets its answer or a `KafkaError`."""
        try:
            if not request.transactional_id:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "A transactional id cannot be empty.")
            shard = self.coordinators.shard_for(request.transactional_id)
        except KafkaError as error:
            reply(error)
            return
        shard.submit(lambda token, now_ms: shard.coordinator.handle(token, request, now_ms), reply)


def for_version(error: KafkaError, version: int, knows_fenced_since: int) -> ErrorCode:
    """Producers before KIP-588 know a fenced one by its invalid epoch only."""
    if error.code is ErrorCode.PRODUCER_FENCED and version < knows_fenced_since:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error.code
