"""InitProducerId: gives an idempotent producer its id; ids come in blocks from the controller."""

from __future__ import annotations

from collections.abc import Callable

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import CLUSTER_NAME, Operation, ResourceType
from headrace.broker.context import RequestContext
from headrace.broker.parked import Parked
from headrace.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)

#: Asks the controller for a block; the callback gets (first id, count) or the error.
AllocateBlock = Callable[[Callable[["tuple[int, int] | KafkaError"], None]], None]


class ProducerIds:
    """Hands out producer ids and fetches the next block when one is used up."""

    def __init__(self, allocate: AllocateBlock) -> None:
        self._allocate = allocate
        self._next = 0
        self._end = 0
        self._waiting: list[Callable[[int | KafkaError], None]] = []

    def take(self, done: Callable[[int | KafkaError], None]) -> None:
        """The next id, at once if the block has one."""
        if self._next < self._end:
            self._next += 1
            done(self._next - 1)
            return
        self._waiting.append(done)
        if len(self._waiting) == 1:
            self._allocate(self._allocated)

    def _allocated(self, block: tuple[int, int] | KafkaError) -> None:
        waiting, self._waiting = self._waiting, []
        if isinstance(block, KafkaError):
            for done in waiting:
                done(block)
            return
        self._next, self._end = block[0], block[0] + block[1]
        for done in waiting:
            self.take(done)


class InitProducerIdHandler:
    """Serves API key 22, for producers without a transactional id."""

    def __init__(self, producer_ids: ProducerIds) -> None:
        self._producer_ids = producer_ids

    def __call__(
        self, context: RequestContext, request: InitProducerIdRequest
    ) -> InitProducerIdResponse | Parked:
        _check_access(context, request.transactional_id)
        if (request.producer_id == -1) != (request.producer_epoch == -1):
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Id and epoch come together or not at all.")
        if request.transactional_id is not None:
            code = (
                ErrorCode.INVALID_REQUEST
                if request.transactional_id == ""
                else ErrorCode.COORDINATOR_NOT_AVAILABLE
            )
            raise KafkaError(code, "This node does not coordinate transactions yet.")
        parked = Parked()

        def taken(result: int | KafkaError) -> None:
            if isinstance(result, KafkaError):
                parked.complete(InitProducerIdResponse(error_code=int(result.code)))
            else:
                parked.complete(InitProducerIdResponse(producer_id=result, producer_epoch=0))

        self._producer_ids.take(taken)
        return parked


def _check_access(context: RequestContext, transactional_id: str | None) -> None:
    if transactional_id is not None:
        kind = ResourceType.TRANSACTIONAL_ID
        if not context.allows(Operation.WRITE, kind, transactional_id):
            raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    # Whoever may write to a topic at all may do so without duplicates (KIP-679).
    elif not (
        context.allows(Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, CLUSTER_NAME)
        or context.allows_any(Operation.WRITE, ResourceType.TOPIC)
    ):
        raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
