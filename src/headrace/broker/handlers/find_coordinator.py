"""FindCoordinator: which broker looks after a group or a transactional id."""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.cluster_view import Address, ClusterView
from headrace.broker.context import RequestContext
from headrace.broker.coordination.coordinators import Coordinators
from headrace.broker.coordination.internal_topics import InternalTopics
from headrace.broker.parked import Parked
from headrace.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

GROUP = 0
TRANSACTION = 1
_BATCHED_SINCE = 4


class FindCoordinatorHandler:
    """Serves API key 10."""

    def __init__(
        self, cluster: ClusterView, topics: InternalTopics, kinds: dict[int, Coordinators]
    ) -> None:
        self._cluster = cluster
        self._topics = topics
        #: The coordinators by the key type of the request.
        self._kinds = kinds

    def __call__(
        self, context: RequestContext, request: FindCoordinatorRequest
    ) -> FindCoordinatorResponse | Parked:
        keys = [request.key]
        if context.api_version >= _BATCHED_SINCE:
            keys = request.coordinator_keys
        kind = self._kinds.get(request.key_type)
        if kind is None:
            refusal = KafkaError(
                ErrorCode.INVALID_REQUEST, f"Coordinator type {request.key_type} is not served."
            )
            return _response(context, [_refused(key, refusal) for key in keys])
        # Whoever may not know of any of them does not bring the topic about either.
        if kind.partition_count or not any(_allows(context, request, key) for key in keys):
            return _response(context, [self._find(context, kind, request, key) for key in keys])
        parked = Parked()

        def made(error: KafkaError | None) -> None:
            if error is None:
                found = [self._find(context, kind, request, key) for key in keys]
            else:
                unavailable = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, error.message)
                found = [_refused(key, unavailable) for key in keys]
            parked.complete(_response(context, found))

        self._topics.ensure(kind.topic, made)
        return parked

    def _find(
        self,
        context: RequestContext,
        kind: Coordinators,
        request: FindCoordinatorRequest,
        key: str,
    ) -> Coordinator:
        if not _allows(context, request, key):
            code = (
                ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
                if request.key_type
                else ErrorCode.GROUP_AUTHORIZATION_FAILED
            )
            return _refused(key, KafkaError(code))
        index = kind.partition_of(key)
        image = self._cluster.image
        partition = None if index is None else image.partition(kind.topic, index)
        leader = -1 if partition is None else partition.leader
        for address in self._cluster.brokers(context):
            if address.node_id == leader:
                return _found(key, address)
        return _refused(key, KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE))


def _allows(context: RequestContext, request: FindCoordinatorRequest, key: str) -> bool:
    resource = ResourceType.TRANSACTIONAL_ID if request.key_type else ResourceType.GROUP
    return context.allows(Operation.DESCRIBE, resource, key)


def _found(key: str, address: Address) -> Coordinator:
    return Coordinator(key=key, node_id=address.node_id, host=address.host, port=address.port)


def _refused(key: str, error: KafkaError) -> Coordinator:
    return Coordinator(
        key=key,
        node_id=-1,
        port=-1,
        error_code=int(error.code),
        error_message=error.message or error.code.name,
    )


def _response(context: RequestContext, found: list[Coordinator]) -> FindCoordinatorResponse:
    if context.api_version >= _BATCHED_SINCE:
        return FindCoordinatorResponse(coordinators=found)
    one = found[0]
    return FindCoordinatorResponse(
        error_code=one.error_code,
        error_message=one.error_message,
        node_id=one.node_id,
        host=one.host,
        port=one.port,
    )
