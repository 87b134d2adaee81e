"""EndTxn: commit or abort; since version 5 the response has the next epoch (KIP-890)."""

from __future__ import annotations

from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.context import RequestContext
from headrace.broker.coordination.transactions import Transactions, for_version, may_write
from headrace.broker.parked import Parked
from headrace.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from headrace.transactions.requests import EndTransaction
from headrace.transactions.transaction import EPOCH_BUMP_VERSION, ProducerIdentity

_KNOWS_FENCED_SINCE = 2
_BUMPS_EPOCH_SINCE = 5


class EndTxnHandler:
    """Serves API key 26."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def __call__(self, context: RequestContext, request: EndTxnRequest) -> EndTxnResponse | Parked:
        if not may_write(context, request.transactional_id):
            code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            return EndTxnResponse(error_code=int(code))
        parked = Parked()

        def answer(reply: Any) -> None:
            if isinstance(reply, KafkaError):
                code = for_version(reply, context.api_version, _KNOWS_FENCED_SINCE)
                parked.complete(EndTxnResponse(error_code=int(code)))
            else:
                parked.complete(
                    EndTxnResponse(
                        producer_id=reply.producer_id, producer_epoch=reply.producer_epoch
                    )
                )

        version = EPOCH_BUMP_VERSION if context.api_version >= _BUMPS_EPOCH_SINCE else 0
        producer = ProducerIdentity(request.producer_id, request.producer_epoch)
        self._transactions.ask(
            EndTransaction(request.transactional_id, producer, request.committed, version), answer
        )
        return parked
