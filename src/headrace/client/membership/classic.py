"""A member of a classic group: it joins, syncs, beats, and joins again when the group rebalances.

    OUT -> PREPARING -> JOINING [-> LOOKING_UP] -> SYNCING -> STABLE -> PREPARING ...

Eagerly, all partitions are given up in PREPARING. Cooperatively (KIP-429) they are kept, and what
the new assignment lacks is given up afterwards; the member then joins once more, so that others
can have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto

from headrace.base.errors import ErrorCode
from headrace.client.assignors.subscriber import NO_GENERATION, Subscriber
from headrace.client.groups_describe import read_assignment
from headrace.client.groups_offsets import Membership
from headrace.client.groups_protocol import read_subscriber, write_assignment
from headrace.client.leaders import TopicPartition
from headrace.client.membership.classic_requests import ClassicRequests
from headrace.client.membership.config import MemberConfig
from headrace.client.membership.machine import Change, MemberMachine
from headrace.protocol.messages.heartbeat import HeartbeatResponse
from headrace.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from headrace.protocol.messages.leave_group import LeaveGroupResponse
from headrace.protocol.messages.metadata import MetadataResponse
from headrace.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from headrace.protocol.schema import Request, Response

_SLACK_MS = 5_000


class Phase(Enum):
    """Where the member stands."""

    OUT = auto()
    PREPARING = auto()
    JOINING = auto()
    LOOKING_UP = auto()
    SYNCING = auto()
    STABLE = auto()


class ClassicMember(MemberMachine):
    """The state machine of one member."""

    def __init__(self, config: MemberConfig) -> None:
        super().__init__(config)
        self.phase = Phase.OUT
        self.member_id = ""
        self.generation = NO_GENERATION
        self.is_leader = False
        self._requests = ClassicRequests(config)
        self._strategy = config.strategies[0]
        self._must_rejoin = False
        self._subscribers: list[Subscriber] = []
        self._counts: dict[str, int] = {}
        self._shares: dict[str, list[TopicPartition]] = {}

    # ---------------------------------------------------------------- for the application

    @property
    def membership(self) -> Membership:
        return Membership(self.member_id, self.generation, self.config.group_instance_id)

    def subscribe(self, topics: Mapping[str, int]) -> None:
        before, self.topics = self.topics, dict(topics)
        if self.phase in (Phase.OUT, Phase.PREPARING):
            return
        # Counts matter to the leader only, which shares out new partitions.
        if before.keys() != topics.keys() or (self.is_leader and before != topics):
            self._must_rejoin = True

    def carried_out(self, change: Change) -> None:
        if change is not self.pending:
            return
        self.pending = None
        self.owned = self.owned - change.revoked | change.added
        if not change.is_assignment:
            self.phase = Phase.JOINING
        elif change.revoked:
            self._must_rejoin = True

    def lost(self) -> None:
        """Out of the group; partitions that others may have already are lost, not revoked."""
        self.member_id, self.generation = "", NO_GENERATION
        self._must_rejoin = False
        self.phase = Phase.PREPARING
        self.pending = Change(revoked=self.owned, is_lost=True)

    # ---------------------------------------------------------------- for the driver

    def next_request(self, now_ms: float) -> Request | None:
        if self._is_too_late(now_ms) and self.phase not in (Phase.OUT, Phase.PREPARING):
            return self._leave_late()
        if self.phase is Phase.OUT and self.topics and not self._is_late:
            self.phase = Phase.JOINING
        if self.phase is Phase.STABLE and self._must_rejoin and self.pending is None:
            self._prepare()
        if self.phase is Phase.JOINING:
            self._must_rejoin = False
            return self._requests.join(self.member_id, self.topics, self.owned, self.generation)
        if self.phase is Phase.LOOKING_UP:
            return self._requests.metadata(self._unknown_topics())
        if self.phase is Phase.SYNCING:
            return self._sync()
        if self.phase is Phase.OUT or not self.member_id or now_ms < self._beat_due_ms:
            return None
        return self._requests.heartbeat(self.member_id, self.generation)

    def answered(self, answer: Response, now_ms: float) -> None:
        self._beat_due_ms = now_ms + self.config.heartbeat_interval_ms
        if isinstance(answer, JoinGroupResponse):
            self._joined(answer)
        elif isinstance(answer, MetadataResponse):
            self._looked_up(answer)
        elif isinstance(answer, SyncGroupResponse):
            self._synced(answer)
        elif isinstance(answer, HeartbeatResponse):
            self._beaten(answer.error_code)
        elif not isinstance(answer, LeaveGroupResponse):
            raise TypeError(f"{type(answer).__name__} answers nothing that a member asks")

    def leave_request(self) -> Request | None:
        """A static member stays, so that its restart moves nothing."""
        if not self.member_id or self.config.group_instance_id is not None:
            return None
        return self._requests.leave(self.member_id, "the consumer is being closed")

    def answer_timeout_ms(self, request: Request) -> int | None:
        """A join is answered when every member has joined again, or has had its time to."""
        if isinstance(request, JoinGroupRequest | SyncGroupRequest):
            return self.config.max_poll_interval_ms + _SLACK_MS
        return None

    # ---------------------------------------------------------------- pieces of the above

    def _prepare(self) -> None:
        """The application gives up what it must, and commits, before the member joins again."""
        self.phase = Phase.PREPARING
        kept = frozenset(p for p in self.owned if p[0] in self.topics)
        self.pending = Change(
            revoked=self.owned - kept if self.config.is_cooperative else self.owned
        )

    def _leave_late(self) -> Request | None:
        """The application is stuck: others shall have its partitions (KIP-62)."""
        request = None
        if self.member_id and self.config.group_instance_id is None:
            request = self._requests.leave(self.member_id, "max.poll.interval.ms has passed")
        self.lost()
        return request

    def _joined(self, answer: JoinGroupResponse) -> None:
        code = answer.error_code
        if code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
        elif code == ErrorCode.UNKNOWN_MEMBER_ID:
            self._start_over()
        elif code and code != ErrorCode.REBALANCE_IN_PROGRESS:
            self._fail(code)
        if code:
            return
        self.member_id, self.generation = answer.member_id, answer.generation_id
        self.is_leader = answer.leader == answer.member_id
        self._shares = {}
        named = [s for s in self.config.strategies if s.name == answer.protocol_name]
        if not named:
            self._fail(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
                f"The group chose the assignor {answer.protocol_name}, which was not offered.",
            )
            return
        self._strategy = named[0]
        self.phase = Phase.SYNCING
        if self.is_leader and not answer.skip_assignment:
            self._subscribers = [read_subscriber(m, self._strategy.name) for m in answer.members]
            self._counts = dict(self.topics)
            self.phase = Phase.LOOKING_UP if self._unknown_topics() else Phase.SYNCING
            self._share_out()

    def _unknown_topics(self) -> list[str]:
        """Other members may want topics that this one does not."""
        return sorted({t for s in self._subscribers for t in s.topics} - self._counts.keys())

    def _looked_up(self, answer: MetadataResponse) -> None:
        self._counts |= dict.fromkeys(self._unknown_topics(), 0)
        for row in answer.topics:
            if row.name is not None and not row.error_code:
                self._counts[row.name] = len(row.partitions)
        self.phase = Phase.SYNCING
        self._share_out()

    def _share_out(self) -> None:
        if self.phase is Phase.SYNCING:
            self._shares = self._strategy.assign(self._subscribers, self._counts)

    def _sync(self) -> Request:
        shares = {member: write_assignment(share) for member, share in self._shares.items()}
        return self._requests.sync(self.member_id, self.generation, self._strategy.name, shares)

    def _synced(self, answer: SyncGroupResponse) -> None:
        code = answer.error_code
        if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            self._start_over(keep_id=code == ErrorCode.ILLEGAL_GENERATION)
        elif code == ErrorCode.REBALANCE_IN_PROGRESS:
            self.phase = Phase.JOINING
        elif code:
            self._fail(code)
        else:
            assigned = frozenset(read_assignment(answer.assignment))
            self._requests.remember(assigned, self.generation)
            self.phase = Phase.STABLE
            self.pending = Change(self.owned - assigned, assigned - self.owned, is_assignment=True)

    def _beaten(self, code: int) -> None:
        if code == ErrorCode.REBALANCE_IN_PROGRESS:
            self._must_rejoin = True
        elif code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            if self.phase is Phase.PREPARING or self.phase is Phase.STABLE:
                self.lost()
        elif code:
            self._fail(code)

    def _start_over(self, *, keep_id: bool = False) -> None:
        """Join as a new member; what a cooperative one has kept so far is lost."""
        member_id = self.member_id if keep_id else ""
        if self.owned:
            self.lost()
        else:
            self.generation, self.phase = NO_GENERATION, Phase.JOINING
        self.member_id = member_id
