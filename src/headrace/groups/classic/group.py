"""A classic group: its members agree on a protocol, and one of them assigns the partitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from headrace.base.checks import check
from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import SetTimer
from headrace.groups.classic.member import ClassicMember
from headrace.groups.classic.members import Members
from headrace.groups.classic.states import MAY_FOLLOW, State
from headrace.groups.classic.subscriptions import subscribed_topics
from headrace.groups.group import CONSUMER_PROTOCOL_TYPE, Group, GroupType, KeyValue
from headrace.groups.records import GroupMetadataKey
from headrace.groups.timer_names import TimerName

SESSION_TIMER = "classic-session"


class InitialRound(NamedTuple):
    """How long the first rebalance of an empty group still waits for more members."""

    delay_ms: int
    remaining_ms: int


class ClassicGroup(Group):
    """The state of one group; what happens to it is decided in the modules beside this one."""

    type = GroupType.CLASSIC

    def __init__(self, group_id: str, now_ms: int | None = None) -> None:
        super().__init__(group_id)
        self.state = State.EMPTY
        self.previous_state = State.DEAD
        self.state_timestamp_ms = now_ms
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader: str | None = None
        self.members = Members()
        #: Member ids handed out with MEMBER_ID_REQUIRED, not yet used to join.
        self.pending_joins: dict[str, None] = {}
        #: Members of the new generation that have not asked for their assignment.
        self.pending_syncs: dict[str, None] = {}
        #: None if the members' metadata does not tell.
        self.subscribed_topics: frozenset[str] | None = None
        self.initial_round: InitialRound | None = None
        self.has_new_member = False

    # What every group is asked

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def listed_protocol_type(self) -> str:
        return self.protocol_type or ""

    @property
    def is_empty(self) -> bool:
        return self.state is State.EMPTY

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    def has_member(self, member_id: str) -> bool:
        return member_id in self.members

    def is_subscribed_to(self, topic: str) -> bool:
        if self.subscribed_topics is None:
            # Better to keep an offset than to lose one that is needed.
            return self.uses_consumer_protocol
        return topic in self.subscribed_topics

    def retention_base_ms(self, commit_timestamp_ms: int) -> int | None:
        if self.protocol_type is None:
            return commit_timestamp_ms
        if self.state is State.EMPTY:
            since = self.state_timestamp_ms
            return commit_timestamp_ms if since is None else since
        if (
            self.state is State.STABLE
            and self.uses_consumer_protocol
            and self.subscribed_topics is not None
        ):
            return commit_timestamp_ms
        return None

    def tombstones(self) -> list[KeyValue]:
        return [(GroupMetadataKey(group=self.group_id), None)]

    def keep_alive(self, member_id: str, now_ms: int) -> SetTimer | None:
        if self.state not in (State.STABLE, State.PREPARING_REBALANCE):
            return None
        if member_id not in self.members:
            return None
        return self.session_timer(self.members[member_id], now_ms)

    # Who may do what

    def validate_member(self, member_id: str, group_instance_id: str | None) -> None:
        if group_instance_id is not None:
            holder = self.members.static_id(group_instance_id)
            if holder is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
            if holder != member_id:
                raise KafkaError(ErrorCode.FENCED_INSTANCE_ID)
        if member_id not in self.members:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)

    def validate_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_or_epoch: int,
        *,
        is_transactional: bool,
        api_version: int,
    ) -> None:
        generation = generation_or_epoch
        if generation < 0 and self.state is State.EMPTY:
            return
        if self.state is State.DEAD:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if generation >= 0 or member_id or group_instance_id is not None:
            self.validate_member(member_id, group_instance_id)
            if generation != self.generation:
                raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        elif not is_transactional:
            # An administrator may not move offsets under a running group.
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        if not is_transactional and self.state is State.COMPLETING_REBALANCE:
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        self._require_living()

    def validate_offset_delete(self) -> None:
        self._require_living()
        if self.state is not State.EMPTY and not self.uses_consumer_protocol:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)

    def validate_delete(self) -> None:
        self._require_living()
        if self.state is not State.EMPTY:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)

    def supports(self, protocol_type: str, names: list[str]) -> bool:
        """Whether a member with these protocols fits in."""
        if self.state is State.EMPTY:
            return bool(protocol_type) and bool(names)
        return self.protocol_type == protocol_type and self.members.supports(names)

    @property
    def has_all_joined(self) -> bool:
        return len(self.members) == self.members.joining and not self.pending_joins

    # Changes

    def enter(self, state: State, now_ms: int) -> None:
        """Go on to another state of the table."""
        check(
            state in MAY_FOLLOW[self.state],
            f"group {self.group_id} cannot go from {self.state.value} to {state.value}",
        )
        self.previous_state = self.state
        self.state = state
        self.state_timestamp_ms = now_ms

    def add(self, member: ClassicMember, protocol_type: str) -> None:
        """The first member decides the protocol type and leads."""
        if not self.members:
            self.protocol_type = protocol_type
        if self.leader is None:
            self.leader = member.member_id
        self.members.add(member)
        self.pending_joins.pop(member.member_id, None)

    def remove(self, member_id: str) -> None:
        if member_id in self.members:
            self.members.remove(member_id)
        if self.leader == member_id:
            self.leader = next((member.member_id for member in self.members), None)
        self.pending_joins.pop(member_id, None)
        self.pending_syncs.pop(member_id, None)

    def elect_joined_leader(self) -> bool:
        """A leader that did not come back is replaced; False if nobody came."""
        if self.leader is None:
            return False
        if self.members[self.leader].join_token is None:
            joined = (m.member_id for m in self.members if m.join_token is not None)
            leader = next(joined, None)
            if leader is None:
                return False
            self.leader = leader
        return True

    def update_subscribed_topics(self) -> None:
        for _ in self.update_subscribed_topics_in_steps():
            pass

    def update_subscribed_topics_in_steps(self) -> Iterator[None]:
        """One step looks at one member."""
        protocol = self.protocol_name
        self.subscribed_topics = None
        if not self.uses_consumer_protocol or (self.members and protocol is None):
            return
        topics: set[str] = set()
        for member in self.members:
            some = subscribed_topics(member.metadata(protocol or ""))
            if some is None:
                return
            topics.update(some)
            yield
        self.subscribed_topics = frozenset(topics)

    def session_timer(
        self, member: ClassicMember, now_ms: int, timeout_ms: int | None = None
    ) -> SetTimer:
        """The member is alive now."""
        wait_ms = member.session_timeout_ms if timeout_ms is None else timeout_ms
        return SetTimer(self.session_timer_name(member.member_id), now_ms + wait_ms)

    def session_timer_name(self, member_id: str) -> str:
        return str(TimerName(SESSION_TIMER, self.group_id, member_id))

    def _require_living(self) -> None:
        if self.state is State.DEAD:
            raise KafkaError(
                ErrorCode.GROUP_ID_NOT_FOUND, f"Group {self.group_id} is in dead state."
            )
