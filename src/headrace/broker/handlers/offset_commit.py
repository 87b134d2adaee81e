"""OffsetCommit: a group stores how far it has read; topics have ids since version 10 (KIP-848)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.cluster_view import ClusterView
from headrace.broker.context import RequestContext
from headrace.broker.coordination.groups import Groups, require_group
from headrace.broker.known_offset_commit import PARTITIONS_MAX, KnownOffsetCommit
from headrace.broker.known_requests import Learner
from headrace.broker.parked import Parked, Reply
from headrace.metadata.image import TopicImage
from headrace.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

_TOPIC_IDS_SINCE = 10
#: Looked up once: every commit asks for them, and looking into an Enum is slow.
_READ, _TOPIC = Operation.READ, ResourceType.TOPIC


class OffsetCommitHandler(Learner):
    """Serves API key 8."""

    def __init__(self, groups: Groups, cluster: ClusterView) -> None:
        self._groups = groups
        self._cluster = cluster

    def __call__(self, context: RequestContext, request: OffsetCommitRequest) -> Reply | Parked:
        require_group(context, _READ, request.group_id)
        refused: list[OffsetCommitResponseTopic] = []
        request.topics = [
            topic for topic in request.topics if self._is_accepted(context, topic, refused)
        ]
        if not request.topics:
            return OffsetCommitResponse(topics=refused)

        def answer(reply: Any) -> OffsetCommitResponse:
            if isinstance(reply, KafkaError):
                reply = _refused(request, reply)
            response: OffsetCommitResponse = reply
            if refused:
                _join(response.topics, refused)
            return response

        return self._groups.ask(context, request.group_id, request, answer)

    # Requests that are repeated

    def subject(self, request: OffsetCommitRequest) -> Hashable | None:
        if sum(len(topic.partitions) for topic in request.topics) > PARTITIONS_MAX:
            return None
        return request.group_id, request.member_id, request.generation_id_or_member_epoch

    def learn(
        self, context: RequestContext, request: OffsetCommitRequest, start: bytes
    ) -> KnownOffsetCommit | None:
        refused: list[OffsetCommitResponseTopic] = []
        accepted = [self._is_accepted(context, topic, refused) for topic in request.topics]
        if refused or not accepted or not all(accepted):
            return None
        by_name = self._cluster.image.topics_by_name
        topics = [by_name[topic.name] for topic in request.topics]
        return KnownOffsetCommit(
            context, request, start, self._groups, self._cluster, topics, _refused
        )

    def _is_accepted(
        self,
        context: RequestContext,
        topic: OffsetCommitRequestTopic,
        refused: list[OffsetCommitResponseTopic],
    ) -> bool:
        """Whether something of a topic is left to commit; what is not goes to `refused`."""
        image = self._find(context, topic)
        if not isinstance(image, TopicImage):
            refused.append(_refusal(topic, image))
            return False
        topic.name, topic.topic_id = image.name, image.topic_id
        count = len(image.partitions)
        unknown = [one for one in topic.partitions if not 0 <= one.partition_index < count]
        if unknown:
            error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            refused.append(_answer(topic, [one.partition_index for one in unknown], error))
            topic.partitions = [one for one in topic.partitions if 0 <= one.partition_index < count]
        return bool(topic.partitions)

    def _find(
        self, context: RequestContext, topic: OffsetCommitRequestTopic
    ) -> TopicImage | ErrorCode:
        image = self._cluster.image
        if context.api_version >= _TOPIC_IDS_SINCE:
            identified = image.topics_by_id.get(topic.topic_id)
            if identified is None:
                return ErrorCode.UNKNOWN_TOPIC_ID
            topic.name = identified.name
        if not context.allows(_READ, _TOPIC, topic.name):
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return image.topics_by_name.get(topic.name) or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _refused(request: OffsetCommitRequest, error: KafkaError) -> OffsetCommitResponse:
    return OffsetCommitResponse(topics=[_refusal(topic, error.code) for topic in request.topics])


def _refusal(topic: OffsetCommitRequestTopic, error: ErrorCode) -> OffsetCommitResponseTopic:
    return _answer(topic, [one.partition_index for one in topic.partitions], error)


def _answer(
    topic: OffsetCommitRequestTopic, indexes: list[int], error: ErrorCode
) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            OffsetCommitResponsePartition(partition_index=index, error_code=int(error))
            for index in indexes
        ],
    )


def _join(
    topics: list[OffsetCommitResponseTopic], refused: list[OffsetCommitResponseTopic]
) -> None:
    """Put the refused partitions of a topic beside those that were committed."""
    by_name = {topic.name: topic for topic in topics if topic.name}
    for topic in refused:
        known = by_name.get(topic.name)
        if known is None:
            topics.append(topic)
        else:
            known.partitions += topic.partitions
