"""Consumers of the classic protocol, eager or cooperative, in a group that may change its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.groups.consumer.embedded_protocol import read_assignment, read_subscription
from headrace.protocol.compiler import encode
from headrace.protocol.embedded import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    ConsumerProtocolSubscriptionTopicPartition,
    TopicPartition,
)
from headrace.protocol.messages.heartbeat import HeartbeatRequest
from headrace.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from headrace.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from headrace.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.unit.groups.consumer.clients import NOTHING, Owned
from tests.unit.groups.consumer.commits import Reading
from tests.unit.groups.consumer.world import World

#: Subscriptions since this version say what a member owns.
_VERSION = 1
_PREFIX = _VERSION.to_bytes(2, "big")
#: After these a member has no id any more, and owns nothing.
_LOST_ID = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID)

#: Partitions by the name of their topic, which is how these clients know them.
Named = dict[str, list[int]]


class ClassicClient:
    """One consumer; `owned` is what it really reads from, `epoch` its generation."""

    def __init__(self, name: str, instance_id: str | None, *, is_eager: bool) -> None:
        self.name = name
        self.instance_id = instance_id
        self.member_id = ""
        self.topics: list[str] = []
        self.epoch = -1
        self.owned: Owned = NOTHING
        self.reading = Reading()
        self.must_join = True
        self.is_eager = is_eager
        #: The request that it waits for, and what it does with the answer.
        self.waits: tuple[int, Callable[[World, Any], None]] | None = None

    def subscribe(self, topics: list[str]) -> None:
        self.topics = topics
        self.must_join = True

    def beat(self, world: World, *, lose_answer: bool = False) -> None:
        """Do whatever is next: wait, join or send a heartbeat."""
        if self.waits is not None:
            self._look(world)
        elif self.must_join:
            self._join(world)
        else:
            self._send(world, self._heartbeat(), 4, lambda world, answer: None)
        if lose_answer:
            self.disconnected()

    def disconnected(self) -> None:
        """Whatever it asked, it will never know the answer."""
        if self.waits is not None:
            self.waits = None
            self.must_join = True

    def leave(self, world: World) -> None:
        identity = MemberIdentity(member_id=self.member_id, group_instance_id=self.instance_id)
        self.owned = NOTHING
        world.ask(LeaveGroupRequest(group_id="g", members=[identity]), 5)

    def give_up(self) -> None:
        """It gives up when it joins and when it gets its assignment, not in between."""

    def take_up(self) -> None:
        """See above."""

    def _send(
        self, world: World, request: Any, version: int, take: Callable[[World, Any], None]
    ) -> None:
        self.waits = (world.send(request, version, self.name), take)
        self._look(world)

    def _look(self, world: World) -> None:
        assert self.waits is not None
        token, take = self.waits
        answer = world.answers.get(token)
        if answer is None:
            return  # others are still to come
        self.waits = None
        code = answer.code if isinstance(answer, KafkaError) else ErrorCode(answer.error_code)
        if code is ErrorCode.NONE:
            take(world, answer)
        elif code is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
        else:
            self.must_join = True
            if code in _LOST_ID:
                self.member_id, self.owned = "", NOTHING

    def _heartbeat(self) -> HeartbeatRequest:
        return HeartbeatRequest(
            group_id="g",
            generation_id=self.epoch,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )

    def _join(self, world: World) -> None:
        if self.is_eager or not self.member_id:
            self.owned = NOTHING
        self.reading.arrive_all(world)
        subscription = ConsumerProtocolSubscription(
            topics=self.topics,
            owned_partitions=[
                ConsumerProtocolSubscriptionTopicPartition(topic=name, partitions=partitions)
                for name, partitions in _by_name(world, self.owned).items()
            ],
        )
        protocol = JoinGroupRequestProtocol(
            name="range" if self.is_eager else "cooperative-sticky",
            metadata=_PREFIX + encode(subscription, _VERSION),
        )
        request = JoinGroupRequest(
            group_id="g",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=30_000,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocols=[protocol],
        )
        self._send(world, request, 9, self._joined)

    def _joined(self, world: World, answer: Any) -> None:
        self.member_id = answer.member_id
        generation = answer.generation_id
        shares = {} if answer.skip_assignment else _shares(world, answer.members)
        request = SyncGroupRequest(
            group_id="g",
            generation_id=generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            assignments=[
                SyncGroupRequestAssignment(member_id=member_id, assignment=_assignment(share))
                for member_id, share in shares.items()
            ],
        )
        self._send(world, request, 5, lambda world, answer: self._synced(world, generation, answer))

    def _synced(self, world: World, generation: int, answer: Any) -> None:
        given = NOTHING
        if answer.assignment:
            given = frozenset(
                (view.topic_id, partition)
                for part in read_assignment(answer.assignment).assigned_partitions
                if (view := world.topics.named(part.topic)) is not None
                for partition in part.partitions
            )
        # What it has to give up, others wait for: it joins again without it.
        self.must_join = bool(self.owned - given)
        self.epoch, self.owned = generation, given


def _by_name(world: World, owned: Owned) -> Named:
    found: Named = {}
    for topic_id, partition in sorted(owned):
        view = world.topics.identified(topic_id)
        if view is not None:
            found.setdefault(view.name, []).append(partition)
    return found


def _shares(world: World, members: list[Any]) -> dict[str, Named]:
    """What a leader gives to each: in turn, but nothing that another one still says it owns."""
    wants = {one.member_id: read_subscription(one.metadata) for one in members}
    claims: dict[tuple[str, int], set[str]] = {}
    for member_id, subscription in wants.items():
        for part in subscription.owned_partitions:
            for partition in part.partitions:
                claims.setdefault((part.topic, partition), set()).add(member_id)
    shares: dict[str, Named] = {member_id: {} for member_id in wants}
    for name in world.topics.names():
        view = world.topics.named(name)
        takers = [member_id for member_id, one in wants.items() if name in one.topics]
        if view is None or not takers:
            continue
        for partition in range(view.partition_count):
            taker = takers[partition % len(takers)]
            if not claims.get((name, partition), set()) - {taker}:
                shares[taker].setdefault(name, []).append(partition)
    return shares


def _assignment(share: Named) -> bytes:
    parts = [TopicPartition(topic=name, partitions=indexes) for name, indexes in share.items()]
    assignment = ConsumerProtocolAssignment(assigned_partitions=parts)
    return _PREFIX + encode(assignment, _VERSION)
