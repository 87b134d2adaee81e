"""An OffsetCommit request that a client repeats with other offsets."""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from headrace.base.errors import KafkaError
from headrace.base.outcome import Outcome
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.cluster_view import ClusterView
from headrace.broker.context import RequestContext
from headrace.broker.coordination.groups import Groups
from headrace.broker.coordination.shard import Shard
from headrace.broker.coordination.waiting import NOBODY
from headrace.broker.known_requests import KnownShape, pieces
from headrace.broker.parked import DONE, Parked
from headrace.groups.repeated_commit import RepeatedCommit
from headrace.metadata.image import TopicImage
from headrace.protocol.compiler import encode
from headrace.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

#: Makes the answer of a commit that failed as a whole.
Refused = Callable[[OffsetCommitRequest, KafkaError], OffsetCommitResponse]

#: Commits of more partitions than this are not known.
PARTITIONS_MAX: Final = 64
_OFFSET = Struct(">q")
_MARK = 0x7BC1_E58D_92F6_A300
_READ, _GROUP, _TOPIC = Operation.READ, ResourceType.GROUP, ResourceType.TOPIC


class KnownOffsetCommit(KnownShape):
    """The next commit of the same partitions by the same member."""

    __slots__ = (
        "_answer",
        "_cluster",
        "_context",
        "_groups",
        "_parked",
        "_refused",
        "_repeated",
        "_request",
        "_shard",
        "_token",
        "_topics",
    )

    def __init__(
        self,
        context: RequestContext,
        request: OffsetCommitRequest,
        start: bytes,
        groups: Groups,
        cluster: ClusterView,
        topics: list[TopicImage],
        refused: Refused,
    ) -> None:
        version = context.api_version
        self._shard: Shard
        self._token = NOBODY
        self._repeated = RepeatedCommit(request)
        count = len(self._repeated.parts)
        marks = tuple(range(_MARK, _MARK + count))
        self._repeated.commit(marks)
        parts = pieces(request, version, *map(_OFFSET.pack, marks))
        super().__init__(version, start, parts, "q" * count)
        self._context = context
        self._request = request
        self._groups = groups
        self._cluster = cluster
        self._topics = topics
        self._refused = refused
        self._parked = DONE
        self._answer = encode(_success(request), version)

    def check(self, frame: memoryview) -> tuple[int, ...] | None:
        if not self._parked.is_done or not self._are_open():
            return None
        self._shard = self._groups.coordinators.shard_for(self._request.group_id)
        return self.numbers(frame)

    def serve(self, checked: tuple[int, ...]) -> Parked:
        self._repeated.commit(checked)
        # What `Groups.ask` does, with less that has to be made each time.
        self._parked = parked = Parked(self._forget)
        self._token = self._shard.submit(self._event, self._answered, may_share=True)
        return parked

    def _event(self, token: int, now_ms: int) -> Outcome[Any, Any]:
        handle: Callable[..., Outcome[Any, Any]] = self._shard.coordinator.handle
        return handle(token, self._repeated, self._context, now_ms)

    def _forget(self) -> None:
        self._shard.forget(self._token)

    def _are_open(self) -> bool:
        """Whether the topics are still there, and this client may still commit."""
        allows, by_name = self._context.allows, self._cluster.image.topics_by_name
        if not allows(_READ, _GROUP, self._request.group_id):
            return False
        for topic in self._topics:
            name = topic.name
            if by_name.get(name) is not topic or not allows(_READ, _TOPIC, name):
                return False
        return True

    def _answered(self, reply: OffsetCommitResponse | KafkaError | None) -> None:
        if reply is None:
            self._parked.complete(self._answer)
        elif isinstance(reply, KafkaError):
            self._parked.complete(self._refused(self._request, reply))
        else:
            self._parked.complete(reply)


def _success(request: OffsetCommitRequest) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=one.partition_index)
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
