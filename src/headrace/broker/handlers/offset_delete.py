"""OffsetDelete: forgets committed offsets of topics that the group does not read (KIP-496)."""

from __future__ import annotations

from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.cluster_view import ClusterView
from headrace.broker.context import RequestContext
from headrace.broker.coordination.groups import Groups, require_group
from headrace.broker.parked import Parked
from headrace.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from headrace.protocol.schema import Response


class OffsetDeleteHandler:
    """Serves API key 47."""

    def __init__(self, groups: Groups, cluster: ClusterView) -> None:
        self._groups = groups
        self._cluster = cluster

    def __call__(self, context: RequestContext, request: OffsetDeleteRequest) -> Response | Parked:
        require_group(context, Operation.DELETE, request.group_id)
        refused: dict[str, OffsetDeleteResponseTopic] = {}
        request.topics = [
            topic for topic in request.topics if self._is_accepted(context, topic, refused)
        ]

        def answer(reply: Any) -> OffsetDeleteResponse:
            if isinstance(reply, KafkaError):
                return OffsetDeleteResponse(error_code=int(reply.code))
            response: OffsetDeleteResponse = reply
            for topic in response.topics:
                if topic.name in refused:
                    topic.partitions += refused.pop(topic.name).partitions
            response.topics += refused.values()
            return response

        return self._groups.ask(context, request.group_id, request, answer)

    def _is_accepted(
        self,
        context: RequestContext,
        topic: OffsetDeleteRequestTopic,
        refused: dict[str, OffsetDeleteResponseTopic],
    ) -> bool:
        """Whether something of a topic is left to delete; what is not goes to `refused`."""
        image = self._cluster.image.topics_by_name.get(topic.name)
        if not context.allows(Operation.READ, ResourceType.TOPIC, topic.name):
            refused[topic.name] = _answer(
                topic.name, topic.partitions, ErrorCode.TOPIC_AUTHORIZATION_FAILED
            )
            return False
        count = 0 if image is None else len(image.partitions)
        unknown = [one for one in topic.partitions if not 0 <= one.partition_index < count]
        if unknown:
            refused[topic.name] = _answer(topic.name, unknown, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            topic.partitions = [one for one in topic.partitions if 0 <= one.partition_index < count]
        return bool(topic.partitions)


def _answer(
    name: str, partitions: list[OffsetDeleteRequestPartition], error: ErrorCode
) -> OffsetDeleteResponseTopic:
    return OffsetDeleteResponseTopic(
        name=name,
        partitions=[
            OffsetDeleteResponsePartition(
                partition_index=one.partition_index, error_code=int(error)
            )
            for one in partitions
        ],
    )
