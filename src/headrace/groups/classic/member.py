"""One member of a classic group."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from headrace.protocol.messages.describe_groups import DescribedGroupMember
from headrace.protocol.messages.join_group import JoinGroupRequestProtocol


class MemberProtocol(NamedTuple):
    """An assignment strategy that a member offers, and what it tells the leader about itself."""

    name: str
    metadata: bytes


def offered(protocols: Sequence[JoinGroupRequestProtocol]) -> tuple[MemberProtocol, ...]:
    """The protocols of a request, most wanted first."""
    return tuple(MemberProtocol(one.name, one.metadata) for one in protocols)


class NotedMember(NamedTuple):
    """A member as it is at one moment."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes

    def describe(self) -> DescribedGroupMember:
        return DescribedGroupMember(
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            member_metadata=self.metadata,
            member_assignment=self.assignment,
        )


@dataclass(slots=True, eq=False)
class ClassicMember:
    """A member; who waits for which answer is soft state and lost with the coordinator."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[MemberProtocol, ...]
    assignment: bytes = b""
    #: Tokens of the JoinGroup and SyncGroup requests that wait for their answer.
    join_token: int | None = None
    sync_token: int | None = None
    #: Has joined but was in no generation yet.
    is_new: bool = False

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def is_alive_by_waiting(self) -> bool:
        """Whoever waits for us cannot send heartbeats; a new member has a time-out of its own."""
        return not self.is_new and (self.join_token is not None or self.sync_token is not None)

    def metadata(self, protocol: str) -> bytes:
        for one in self.protocols:
            if one.name == protocol:
                return one.metadata
        raise KeyError(f"member {self.member_id} does not support protocol {protocol}")

    def vote(self, candidates: Collection[str]) -> str:
        """The protocol that this member likes best among those that all members have."""
        for one in self.protocols:
            if one.name in candidates:
                return one.name
        raise KeyError(f"member {self.member_id} supports none of {sorted(candidates)}")

    def noted(self, protocol: str | None) -> NotedMember:
        """For DescribeGroups; what it told about itself only matters in a stable group."""
        return NotedMember(
            self.member_id,
            self.group_instance_id,
            self.client_id,
            self.client_host,
            b"" if protocol is None else self.metadata(protocol),
            self.assignment,
        )
