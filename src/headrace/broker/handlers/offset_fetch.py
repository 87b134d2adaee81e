"""OffsetFetch: how far groups have read; many groups since version 8, topic ids since 10.

However often a group, or a partition of it, is named, it is answered once: otherwise a megabyte of
repetitions would bring a gigabyte of answers. Kafka answers each; its own clients name each once.
"""

from __future__ import annotations

from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.cluster_view import ClusterView
from headrace.broker.context import RequestContext
from headrace.broker.coordination.fetched_groups import FetchedGroups, Take
from headrace.broker.coordination.groups import Groups
from headrace.broker.handlers.offset_fetch_versions import (
    absent,
    asked_groups,
    named_once,
    refused_group,
    response_of,
)
from headrace.broker.parked import Parked
from headrace.groups.offset_reads import FetchOffsets
from headrace.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponseGroup,
    OffsetFetchResponseTopics,
)

_TOPIC_IDS_SINCE = 10


class OffsetFetchHandler:
    """Serves API key 9."""

    def __init__(self, groups: Groups, cluster: ClusterView) -> None:
        self._groups = groups
        self._cluster = cluster

    def __call__(self, context: RequestContext, request: OffsetFetchRequest) -> Parked:
        version = context.api_version
        asked, contradictory = named_once(asked_groups(request, version))
        refused = [
            refused_group(group, ErrorCode.INVALID_REQUEST, version) for group in contradictory
        ]
        return FetchedGroups(
            lambda group, take: self._fetch(context, group, request.require_stable, take),
            lambda found: response_of(found + refused, version),
            version,
            self._groups.coordinators.turns.add,
        ).of(asked)

    def _fetch(
        self,
        context: RequestContext,
        group: OffsetFetchRequestGroup,
        require_stable: bool,
        take: Take,
    ) -> None:
        version = context.api_version
        if not context.allows(Operation.DESCRIBE, ResourceType.GROUP, group.group_id):
            take(refused_group(group, ErrorCode.GROUP_AUTHORIZATION_FAILED, version))
            return
        wants_all = group.topics is None
        refused: list[OffsetFetchResponseTopics] = []
        wanted = OffsetFetchRequestGroup(
            group_id=group.group_id,
            member_id=group.member_id,
            member_epoch=group.member_epoch,
            topics=None if group.topics is None else self._known(context, group.topics, refused),
        )

        def answered(reply: Any) -> None:
            if isinstance(reply, KafkaError):
                take(refused_group(group, reply.code, version))
                return
            answer: OffsetFetchResponseGroup = reply
            if wants_all:
                answer.topics = self._visible(context, answer.topics)
            answer.topics += refused
            take(answer)

        self._groups.tell(context, group.group_id, FetchOffsets(wanted, require_stable), answered)

    def _known(
        self,
        context: RequestContext,
        topics: list[OffsetFetchRequestTopics],
        refused: list[OffsetFetchResponseTopics],
    ) -> list[OffsetFetchRequestTopics]:
        """The topics that the sender may see, with their names; the others go to `refused`."""
        known: dict[str, OffsetFetchRequestTopics] = {}
        for topic in topics:
            if context.api_version >= _TOPIC_IDS_SINCE:
                image = self._cluster.image.topics_by_id.get(topic.topic_id)
                if image is None:
                    refused.append(_refused(topic, ErrorCode.UNKNOWN_TOPIC_ID))
                    continue
                topic.name = image.name
            if not context.allows(Operation.DESCRIBE, ResourceType.TOPIC, topic.name):
                refused.append(_refused(topic, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
                continue
            first = known.setdefault(topic.name, topic)
            if first is not topic:
                first.partition_indexes += topic.partition_indexes
        for topic in known.values():
            topic.partition_indexes = list(dict.fromkeys(topic.partition_indexes))
        return list(known.values())

    def _visible(
        self, context: RequestContext, topics: list[OffsetFetchResponseTopics]
    ) -> list[OffsetFetchResponseTopics]:
        """Of all topics of a group those that the sender may see and the version can name."""
        visible = []
        for topic in topics:
            if not context.allows(Operation.DESCRIBE, ResourceType.TOPIC, topic.name):
                continue
            if context.api_version >= _TOPIC_IDS_SINCE:
                image = self._cluster.image.topics_by_name.get(topic.name)
                if image is None:
                    continue
                topic.topic_id = image.topic_id
            visible.append(topic)
        return visible


def _refused(topic: OffsetFetchRequestTopics, error: ErrorCode) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[absent(index, error) for index in topic.partition_indexes],
    )
