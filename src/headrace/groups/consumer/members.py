"""The members of one consumer group, and what is counted over all of them.

Everything is kept up to date member by member, so that no heartbeat has to look at all the others.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.base.errors import ErrorCode, KafkaError
from headrace.groups.consumer.member import Member, MemberState
from headrace.groups.consumer.subscriptions import Subscriptions


class Members:
    """By member id, in the order in which they came."""

    def __init__(self, group_id: str) -> None:
        self.subscriptions = Subscriptions()
        self.classic_count = 0
        #: How many wait for partitions that others still have.
        self.waiting_count = 0
        #: How many classic members support a protocol.
        self.classic_protocols: dict[str, int] = {}
        self._group_id = group_id
        self._by_id: dict[str, Member] = {}
        self._static_ids: dict[str, str] = {}
        #: Who owns a partition, or must be assumed to.
        self._owners: dict[bytes, dict[int, str]] = {}
        self._assignor_votes: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Member]:
        return iter(self._by_id.values())

    def __contains__(self, member_id: object) -> bool:
        return member_id in self._by_id

    @property
    def ids(self) -> list[str]:
        return list(self._by_id)

    def get(self, member_id: str) -> Member | None:
        return self._by_id.get(member_id)

    def require(self, member_id: str) -> Member:
        member = self._by_id.get(member_id)
        if member is None:
            raise KafkaError(
                ErrorCode.UNKNOWN_MEMBER_ID,
                f"Member {member_id} is not a member of group {self._group_id}.",
            )
        return member

    def static(self, instance_id: str | None) -> Member | None:
        """Who holds an instance id."""
        member_id = None if instance_id is None else self._static_ids.get(instance_id)
        return None if member_id is None else self._by_id[member_id]

    def owner(self, topic_id: bytes, partition: int) -> str | None:
        """The member that has a partition, or has not given it up yet."""
        owners = self._owners.get(topic_id)
        return None if owners is None else owners.get(partition)

    def put(self, member: Member) -> None:
        """A record says something new about a member."""
        old = self._by_id.get(member.member_id)
        if old is not None:
            self._release(old)
        self._by_id[member.member_id] = member
        if member.instance_id is not None:
            self._static_ids[member.instance_id] = member.member_id
        for owned in (member.assigned, member.pending_revocation):
            for topic_id, partitions in owned.items():
                owners = self._owners.setdefault(topic_id, {})
                owners.update(dict.fromkeys(partitions, member.member_id))
        self._count(old, member)

    def remove(self, member_id: str) -> None:
        old = self._by_id.pop(member_id, None)
        if old is None:
            return
        self._release(old)
        if old.instance_id is not None and self._static_ids.get(old.instance_id) == member_id:
            del self._static_ids[old.instance_id]
        self._count(old, None)

    def preferred_assignor(
        self, old: Member | None = None, new: Member | None = None
    ) -> str | None:
        """The assignor that most members ask for, with `new` in the place of `old`."""
        votes = dict(self._assignor_votes)
        _vote(votes, old, -1)
        _vote(votes, new, 1)
        return max(votes, key=votes.__getitem__) if votes else None

    def _release(self, member: Member) -> None:
        for owned in (member.assigned, member.pending_revocation):
            for topic_id, partitions in owned.items():
                owners = self._owners.get(topic_id, {})
                for partition in partitions:
                    # While a log is loaded, the next owner's record may have come before.
                    if owners.get(partition) == member.member_id:
                        del owners[partition]
                if not owners:
                    self._owners.pop(topic_id, None)

    def _count(self, old: Member | None, new: Member | None) -> None:
        self.subscriptions.replace(old, new)
        for member, step in ((old, -1), (new, 1)):
            _vote(self._assignor_votes, member, step)
            if member is not None and member.state is MemberState.UNRELEASED_PARTITIONS:
                self.waiting_count += step
            if member is not None and member.classic is not None:
                self.classic_count += step
                for protocol in member.classic.supported_protocols:
                    _add(self.classic_protocols, protocol.name, step)


def _vote(votes: dict[str, int], member: Member | None, step: int) -> None:
    if member is not None and member.server_assignor is not None:
        _add(votes, member.server_assignor, step)


def _add(counts: dict[str, int], key: str, step: int) -> None:
    count = counts.get(key, 0) + step
    if count > 0:
        counts[key] = count
    else:
        counts.pop(key, None)
