"""The members of a classic group, counted in the ways that a rebalance asks for."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from headrace.base.checks import check
from headrace.groups.classic.member import ClassicMember, MemberProtocol


class Members:
    """By member id, and by group instance id for static ones."""

    def __init__(self) -> None:
        self._by_id: dict[str, ClassicMember] = {}
        self._static: dict[str, str] = {}
        #: How many members offer a protocol.
        self._supporters: dict[str, int] = {}
        self.joining = 0

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[ClassicMember]:
        return iter(self._by_id.values())

    def __contains__(self, member_id: str) -> bool:
        return member_id in self._by_id

    def __getitem__(self, member_id: str) -> ClassicMember:
        return self._by_id[member_id]

    def static_id(self, group_instance_id: str) -> str | None:
        """The member that holds an instance id now."""
        return self._static.get(group_instance_id)

    def add(self, member: ClassicMember) -> None:
        if member.group_instance_id is not None:
            check(member.group_instance_id not in self._static, "two members share an instance id")
            self._static[member.group_instance_id] = member.member_id
        self._by_id[member.member_id] = member
        self._count(member, 1)

    def remove(self, member_id: str) -> None:
        member = self._by_id.pop(member_id)
        self._count(member, -1)
        if member.group_instance_id is not None:
            self._static.pop(member.group_instance_id, None)

    def offer(self, member: ClassicMember, protocols: tuple[MemberProtocol, ...]) -> None:
        """The member now has other protocols."""
        self._count(member, -1)
        member.protocols = protocols
        self._count(member, 1)

    def await_join(self, member: ClassicMember, token: int | None) -> int | None:
        """Note who waits for a member's join, or that nobody does; returns who waited before."""
        before = member.join_token
        member.join_token = token
        self.joining += (token is not None) - (before is not None)
        return before

    def supports(self, names: Collection[str]) -> bool:
        """Whether all members have one of these protocols."""
        return any(self._supporters.get(name, 0) == len(self._by_id) for name in names)

    def elected_protocol(self) -> str:
        """The protocol with most votes among those that everybody supports."""
        size = len(self._by_id)
        candidates = {name for name, count in self._supporters.items() if count == size}
        votes: dict[str, int] = {}
        for member in self._by_id.values():
            vote = member.vote(candidates)
            votes[vote] = votes.get(vote, 0) + 1
        return max(votes, key=votes.__getitem__)

    @property
    def rebalance_timeout_ms(self) -> int:
        """The slowest member decides how long a rebalance may take."""
        return max((member.rebalance_timeout_ms for member in self._by_id.values()), default=0)

    def _count(self, member: ClassicMember, step: int) -> None:
        self.joining += step * (member.join_token is not None)
        for name in {protocol.name: None for protocol in member.protocols}:
            count = self._supporters.get(name, 0) + step
            if count:
                self._supporters[name] = count
            else:
                del self._supporters[name]
