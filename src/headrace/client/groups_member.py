"""A member of a classic group: it joins, keeps its place with heartbeats, and leaves.

It has no thread of its own: whoever holds it calls `keep_up` again and again, at least once in a
session time-out. Rebalances are eager: partitions are given up before the group is joined again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.blocking import KafkaClient
from headrace.client.connection import BlockingConnection
from headrace.client.errors import raise_for_code
from headrace.client.groups import ask_coordinator
from headrace.client.groups_assignor import assign_ranges
from headrace.client.groups_describe import read_assignment
from headrace.client.groups_offsets import Membership
from headrace.client.groups_protocol import read_subscriber, write_assignment, write_subscription
from headrace.client.leaders import TopicPartition
from headrace.client.metadata import ask_topics
from headrace.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from headrace.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from headrace.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from headrace.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

T = TypeVar("T")

_PROTOCOL_TYPE, _ASSIGNOR = "consumer", "range"
#: After these the member is in the group no more and has to join as a new one.
LOST = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION)
_SLACK_MS = 5_000


@dataclass(frozen=True, slots=True)
class MemberConfig:
    """The names are those of Kafka's consumer settings."""

    group_id: str
    group_instance_id: str | None = None
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000


@dataclass(slots=True)
class Assignment:
    """What a generation of the group gave to this member."""

    generation: int = -1
    is_leader: bool = False
    partitions: set[TopicPartition] = field(default_factory=set)


class GroupMember:
    """One member; `assignment` is what it has now, None while it has to join first."""

    def __init__(self, client: KafkaClient, config: MemberConfig) -> None:
        self._client = client
        self._config = config
        self._member_id = ""
        self._beat_at = 0.0
        self.assignment: Assignment | None = None

    @property
    def membership(self) -> Membership:
        generation = -1 if self.assignment is None else self.assignment.generation
        return Membership(self._member_id, generation, self._config.group_instance_id)

    # ---------------------------------------------------------------- joining

    def join(self, topics: Mapping[str, int]) -> Assignment:
        """Join the group for these topics (with their partition counts) and wait for a share."""
        while True:
            try:
                self.assignment = self._join_once(topics)
            except KafkaError as error:
                if error.code in LOST:
                    self._member_id = ""
                elif error.code not in (
                    ErrorCode.REBALANCE_IN_PROGRESS,
                    ErrorCode.MEMBER_ID_REQUIRED,
                ):
                    raise
            else:
                self._beat_at = time.monotonic()
                return self.assignment

    def _join_once(self, topics: Mapping[str, int]) -> Assignment:
        joined = self._ask(lambda node: self._join(node, list(topics)))
        self._member_id = joined.member_id
        return self._ask(lambda node: self._sync(node, joined, topics))

    def _join(self, node: BlockingConnection, topics: list[str]) -> JoinGroupResponse:
        config = self._config
        request = JoinGroupRequest(
            group_id=config.group_id,
            session_timeout_ms=config.session_timeout_ms,
            rebalance_timeout_ms=config.max_poll_interval_ms,
            member_id=self._member_id,
            group_instance_id=config.group_instance_id,
            protocol_type=_PROTOCOL_TYPE,
            protocols=[
                JoinGroupRequestProtocol(name=_ASSIGNOR, metadata=write_subscription(topics))
            ],
        )
        # The answer comes when every member has joined again, or has had its time to.
        answer = node.call(
            request, JoinGroupResponse, timeout_ms=config.max_poll_interval_ms + _SLACK_MS
        )
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self._member_id = answer.member_id
        raise_for_code(answer.error_code)
        return answer

    def _sync(
        self, node: BlockingConnection, joined: JoinGroupResponse, topics: Mapping[str, int]
    ) -> Assignment:
        is_leader = joined.leader == joined.member_id
        shares = self._share_out(node, joined, topics) if is_leader else {}
        request = SyncGroupRequest(
            group_id=self._config.group_id,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            group_instance_id=self._config.group_instance_id,
            protocol_type=_PROTOCOL_TYPE,
            protocol_name=_ASSIGNOR,
            assignments=[
                SyncGroupRequestAssignment(member_id=member, assignment=write_assignment(share))
                for member, share in shares.items()
            ],
        )
        timeout_ms = self._config.max_poll_interval_ms + _SLACK_MS
        answer = node.call(request, SyncGroupResponse, timeout_ms=timeout_ms)
        raise_for_code(answer.error_code)
        partitions = read_assignment(answer.assignment)
        return Assignment(joined.generation_id, is_leader, partitions)

    def _share_out(
        self, node: BlockingConnection, joined: JoinGroupResponse, topics: Mapping[str, int]
    ) -> dict[str, list[TopicPartition]]:
        """The leader's work; other members may subscribe to topics that it does not."""
        if joined.skip_assignment:
            return {}
        subscribers = [read_subscriber(member) for member in joined.members]
        counts = dict(topics)
        others = {topic for s in subscribers for topic in s.topics} - counts.keys()
        if others:
            for row in ask_topics(node, sorted(others)).topics:
                if row.name is not None and not row.error_code:
                    counts[row.name] = len(row.partitions)
        return assign_ranges(subscribers, counts)

    # ---------------------------------------------------------------- staying and leaving

    def is_in_place(self) -> bool:
        """Send a heartbeat if one is due; False when the member has to join again."""
        if self.assignment is None:
            return False
        now = time.monotonic()
        if now < self._beat_at + self._config.heartbeat_interval_ms / 1000:
            return True
        self._beat_at = now
        try:
            self._ask(self._beat)
        except KafkaError as error:
            if error.code in LOST:
                self.forget()
            elif error.code is not ErrorCode.REBALANCE_IN_PROGRESS:
                raise
            return False
        return True

    def _beat(self, node: BlockingConnection) -> None:
        request = HeartbeatRequest(
            group_id=self._config.group_id,
            generation_id=self.membership.generation,
            member_id=self._member_id,
            group_instance_id=self._config.group_instance_id,
        )
        raise_for_code(node.call(request, HeartbeatResponse).error_code)

    def forget(self) -> None:
        """The group has dropped this member: its partitions are others' already."""
        self._member_id = ""
        self.assignment = None

    def leave(self) -> None:
        """A static member stays, so that its restart moves nothing; others tell the group."""
        if not self._member_id or self._config.group_instance_id is not None:
            return
        row = MemberIdentity(member_id=self._member_id, reason="the consumer is being closed")
        request = LeaveGroupRequest(
            group_id=self._config.group_id, member_id=self._member_id, members=[row]
        )
        self._ask(lambda node: node.call(request, LeaveGroupResponse))
        self.forget()

    def _ask(self, ask: Callable[[BlockingConnection], T]) -> T:
        return ask_coordinator(self._client, self._config.group_id, ask)
