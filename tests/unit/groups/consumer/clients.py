"""Consumers of the new protocol as a client library behaves, with all that can go wrong."""

from __future__ import annotations

from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.groups.consumer.member import JOINING_EPOCH, LEFT_EPOCH, STATIC_LEFT_EPOCH
from headrace.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from tests.unit.groups.consumer.commits import Reading
from tests.unit.groups.consumer.world import World

#: After these a client gives up all its partitions and joins again.
_START_OVER = (
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNRELEASED_INSTANCE_ID,
)

Owned = frozenset[tuple[bytes, int]]
NOTHING: Owned = frozenset()


class Client:
    """One consumer; `owned` is what it really reads from."""

    def __init__(self, member_id: str, instance_id: str | None = None) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.topics: list[str] = []
        self.regex: str | None = None
        self.assignor: str | None = None
        self.epoch = JOINING_EPOCH
        self.owned = NOTHING
        self.reading = Reading()
        #: What it was last told to own, until it does.
        self.told: Owned | None = None
        #: A client that is not sure of its last heartbeat says everything in the next one.
        self.is_unsure = True
        self.is_in = False

    def subscribe(self, topics: list[str], regex: str | None) -> None:
        self.topics = topics
        self.regex = regex
        self.is_unsure = True

    def beat(self, world: World, *, lose_answer: bool = False) -> None:
        """Send a heartbeat, and take in the answer unless it gets lost."""
        self.is_in = True
        if self.epoch == JOINING_EPOCH:
            # Through the same connection, so they cannot come after it.
            self.reading.arrive_all(world)
        answer = world.ask(self._request(), client_id=self.member_id)
        if lose_answer:
            self.is_unsure = True
        elif isinstance(answer, KafkaError):
            self._refused(answer)
        else:
            self._accepted(answer)

    def leave(self, world: World, *, for_a_while: bool = False) -> None:
        self.is_in = False
        epoch = STATIC_LEFT_EPOCH if for_a_while else LEFT_EPOCH
        self.owned, self.told = NOTHING, None
        world.ask(
            ConsumerGroupHeartbeatRequest(
                group_id="g",
                member_id=self.member_id,
                member_epoch=epoch,
                instance_id=self.instance_id,
            )
        )

    def give_up(self) -> None:
        """The application has let go of what it may not keep."""
        if self.told is not None:
            self.owned &= self.told
            self.is_unsure = True

    def take_up(self) -> None:
        """Start with what is new, once nothing has to go any more."""
        if self.told is not None and self.owned <= self.told:
            self.owned, self.told = self.told, None
            self.is_unsure = True

    def _request(self) -> ConsumerGroupHeartbeatRequest:
        request = ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=self.instance_id,
        )
        if self.is_unsure or self.epoch == JOINING_EPOCH:
            # What it says it owns is final: it must not take up an older promise afterwards.
            self.told = None
            by_topic: dict[bytes, list[int]] = {}
            for topic_id, partition in sorted(self.owned):
                by_topic.setdefault(topic_id, []).append(partition)
            request.rebalance_timeout_ms = 60_000
            request.subscribed_topic_names = self.topics
            request.subscribed_topic_regex = self.regex or ""
            request.server_assignor = self.assignor
            request.topic_partitions = [
                TopicPartitions(topic_id=topic_id, partitions=partitions)
                for topic_id, partitions in by_topic.items()
            ]
        return request

    def _accepted(self, answer: ConsumerGroupHeartbeatResponse) -> None:
        self.is_unsure = False
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.told = frozenset(
                (topic.topic_id, partition)
                for topic in answer.assignment.topic_partitions
                for partition in topic.partitions
            )

    def _refused(self, error: KafkaError) -> None:
        self.is_unsure = True
        if error.code in _START_OVER:
            self.owned, self.told = NOTHING, None
            self.epoch = JOINING_EPOCH


def owned_in(owned: Any) -> Owned:
    """What a member of the coordinator has, as clients keep it."""
    return frozenset(
        (topic_id, partition) for topic_id, partitions in owned.items() for partition in partitions
    )
