"""How handlers reach the group coordinators: a request goes in, its parked reply comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.context import RequestContext
from headrace.broker.coordination.coordinators import Coordinators
from headrace.broker.coordination.shard import Shard
from headrace.broker.parked import Parked
from headrace.groups.topics import TopicView
from headrace.metadata.changes import MetadataChanges
from headrace.metadata.image import TopicImage
from headrace.protocol.messages.offset_commit import OffsetCommitRequest
from headrace.protocol.schema import Response

#: Makes the response of what the coordinator answered, which may be a `KafkaError`.
Answer = Callable[[Any], Response]


def require_group(context: RequestContext, operation: Operation, group_id: str) -> None:
    if not context.allows(operation, ResourceType.GROUP, group_id):
        raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)


class Groups:
    """The group coordinators of this node, as handlers see them."""

    def __init__(self, coordinators: Coordinators) -> None:
        self.coordinators = coordinators

    def ask(
        self, context: RequestContext, group_id: str, request: Any, answer: Answer
    ) -> Parked | Response:
        """Ask the coordinator of a group."""
        try:
            shard = self.coordinators.shard_for(group_id)
        except KafkaError as error:
            return answer(error)
        parked = Parked()
        token = send(shard, context, request, lambda reply: parked.complete(answer(reply)))
        parked.when_abandoned(lambda: shard.forget(token))
        return parked

    def ask_each(
        self,
        context: RequestContext,
        group_ids: Iterable[str],
        request: Callable[[list[str]], Any],
        refused: Callable[[str, KafkaError], Any],
        answer: Callable[[list[Any]], Response],
    ) -> Parked:
        """Ask every coordinator for the groups that it has; they answer with lists.

        `refused` makes the entry of a group whose coordinator is not here or cannot answer.
        """
        asked: dict[int, tuple[Shard, list[str]]] = {}
        found: list[Any] = []
        # Once each, however often it is named.
        for group_id in dict.fromkeys(group_ids):
            try:
                shard = self.coordinators.shard_for(group_id)
            except KafkaError as error:
                found.append(refused(group_id, error))
            else:
                asked.setdefault(id(shard), (shard, []))[1].append(group_id)
        parked = Parked()
        gathered = _Gathered(len(asked), found, lambda: parked.complete(answer(found)))
        for shard, names in asked.values():
            send(shard, context, request(names), gathered.of(names, refused))
        return parked

    def ask_all(
        self,
        context: RequestContext,
        request: Any,
        answer: Callable[[list[Any] | KafkaError], Response],
    ) -> Parked | Response:
        """Ask every coordinator of this node; nobody answers while one of them is loading."""
        try:
            shards = self.coordinators.active()
        except KafkaError as error:
            return answer(error)
        parked = Parked()
        found: list[Any] = []
        gathered = _Gathered(len(shards), found, lambda: parked.complete(answer(found)))
        for shard in shards:
            # One that resigns meanwhile has no groups any more.
            send(shard, context, request, gathered.of((), _nothing))
        return parked

    def tell(
        self, context: RequestContext, group_id: str, request: Any, reply: Callable[[Any], None]
    ) -> None:
        """Ask the coordinator of a group; `reply` gets its answer or the `KafkaError`."""
        try:
            shard = self.coordinators.shard_for(group_id)
        except KafkaError as error:
            reply(error)
        else:
            send(shard, context, request, reply)

    def topics_changed(self, changes: MetadataChanges) -> None:
        """Tell every coordinator about topics that are new, larger or gone."""
        if not changes.topics:
            return
        changed = {change.topic.name for change in changes.topics.values()}
        deleted = [_view(topic) for topic in changes.topics_deleted]
        for shard in self.coordinators:
            shard.post(_topics_event(shard, changed, deleted))


class _Gathered:
    """Waits for the lists of several coordinators."""

    def __init__(self, waiting: int, found: list[Any], done: Callable[[], None]) -> None:
        self._waiting = waiting
        self._found = found
        self._done = done
        if not waiting:
            done()

    def of(
        self, names: Sequence[str], refused: Callable[[str, KafkaError], Any]
    ) -> Callable[[Any], None]:
        def answered(reply: Any) -> None:
            if isinstance(reply, KafkaError):
                self._found.extend(refused(name, reply) for name in names)
            else:
                self._found.extend(reply)
            self._waiting -= 1
            if not self._waiting:
                self._done()

        return answered


def send(shard: Shard, context: RequestContext, request: Any, reply: Callable[[Any], None]) -> int:
    """Hand a request to the coordinator of a shard."""
    handle = shard.coordinator.handle
    return shard.submit(
        lambda token, now_ms: handle(token, request, context, now_ms),
        reply,
        may_share=isinstance(request, OffsetCommitRequest),
    )


def _nothing(group_id: str, error: KafkaError) -> None:
    """No entry."""


def _topics_event(
    shard: Shard, changed: set[str], deleted: list[TopicView]
) -> Callable[[int], Any]:
    return lambda now_ms: shard.coordinator.topics_changed(changed, deleted, now_ms)


def _view(topic: TopicImage) -> TopicView:
    return TopicView(topic.name, topic.topic_id, len(topic.partitions))
