"""ConsumerGroupHeartbeat: with it members of consumer groups join, live and leave (KIP-848)."""

from __future__ import annotations

from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.cluster_view import ClusterView
from headrace.broker.context import RequestContext
from headrace.broker.coordination.groups import Groups, require_group
from headrace.broker.parked import Parked
from headrace.metadata.features import GROUP_VERSION
from headrace.metadata.image import MetadataImage
from headrace.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from headrace.protocol.schema import Response

#: Since this level of `group.version` the cluster has consumer groups.
_HAS_CONSUMER_GROUPS = 1


def require_consumer_protocol(image: MetadataImage) -> None:
    """Raise `KafkaError` in a cluster that has not been upgraded to consumer groups."""
    if image.features.get(GROUP_VERSION, 0) < _HAS_CONSUMER_GROUPS:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)


class ConsumerGroupHeartbeatHandler:
    """Serves API key 68."""

    def __init__(self, groups: Groups, cluster: ClusterView) -> None:
        self._groups = groups
        self._cluster = cluster

    def __call__(
        self, context: RequestContext, request: ConsumerGroupHeartbeatRequest
    ) -> Response | Parked:
        require_consumer_protocol(self._cluster.image)
        require_group(context, Operation.READ, request.group_id)
        for name in request.subscribed_topic_names or ():
            if not context.allows(Operation.DESCRIBE, ResourceType.TOPIC, name):
                raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        return self._groups.ask(context, request.group_id, request, _answer)


def _answer(reply: Any) -> ConsumerGroupHeartbeatResponse:
    if isinstance(reply, KafkaError):
        return ConsumerGroupHeartbeatResponse(
            error_code=int(reply.code), error_message=reply.message or None
        )
    response: ConsumerGroupHeartbeatResponse = reply
    return response
