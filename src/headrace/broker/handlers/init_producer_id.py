"""InitProducerId: a producer gets its id and epoch, and takes over its transactional id."""

from __future__ import annotations

from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import CLUSTER_NAME, Operation, ResourceType
from headrace.broker.context import RequestContext
from headrace.broker.coordination.transactions import Transactions, for_version, may_write
from headrace.broker.parked import Parked
from headrace.broker.producer_ids import ProducerIds
from headrace.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from headrace.transactions.requests import InitProducer
from headrace.transactions.transaction import ProducerIdentity

_KNOWS_FENCED_SINCE = 4
_NOBODY = ProducerIdentity(-1, -1)


class InitProducerIdHandler:
    """Serves API key 22."""

    def __init__(self, producer_ids: ProducerIds, transactions: Transactions) -> None:
        self._producer_ids = producer_ids
        self._transactions = transactions

    def __call__(
        self, context: RequestContext, request: InitProducerIdRequest
    ) -> InitProducerIdResponse | Parked:
        parked = Parked()

        def answer(reply: Any) -> None:
            if isinstance(reply, KafkaError):
                parked.complete(_refusal(context, reply))
            else:
                parked.complete(
                    InitProducerIdResponse(
                        producer_id=reply.producer_id, producer_epoch=reply.producer_epoch
                    )
                )

        def taken(result: int | KafkaError) -> None:
            answer(result if isinstance(result, KafkaError) else ProducerIdentity(result, 0))

        try:
            _check_access(context, request.transactional_id)
            expected = _expected(request)
        except KafkaError as error:
            return _refusal(context, error)
        if request.transactional_id is None:
            self._producer_ids.take(taken)
            return parked
        wanted = InitProducer(request.transactional_id, request.transaction_timeout_ms, expected)

        def stocked(error: KafkaError | None) -> None:
            # The coordinator may need an id, and takes it on the spot.
            if error is not None:
                answer(error)
            else:
                self._transactions.ask(wanted, answer)

        self._producer_ids.when_stocked(stocked)
        return parked


def _expected(request: InitProducerIdRequest) -> ProducerIdentity | None:
    """Who the producer was before, if it says so."""
    identity = ProducerIdentity(request.producer_id, request.producer_epoch)
    if (identity.producer_id == -1) != (identity.producer_epoch == -1):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Id and epoch come together or not at all.")
    return None if identity == _NOBODY else identity


def _refusal(context: RequestContext, error: KafkaError) -> InitProducerIdResponse:
    code = for_version(error, context.api_version, _KNOWS_FENCED_SINCE)
    return InitProducerIdResponse(error_code=int(code), producer_id=-1, producer_epoch=-1)


def _check_access(context: RequestContext, transactional_id: str | None) -> None:
    if transactional_id is not None:
        if not may_write(context, transactional_id):
            raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    # Whoever may write to a topic at all may do so without duplicates (KIP-679).
    elif not (
        context.allows(Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, CLUSTER_NAME)
        or context.allows_any(Operation.WRITE, ResourceType.TOPIC)
    ):
        raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
