"""A consumer group (KIP-848): members say what they read, the coordinator says who owns what.

Three epochs tell how far things are. The group epoch rises whenever members, subscriptions or
topics change. The assignment epoch is the group epoch for which the target assignment was made.
The member epoch is the target that a member has reached; each one gets there at its own pace, with
its own heartbeats, so nobody has to stop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import SetTimer
from headrace.groups.consumer.group_records import group_tombstones
from headrace.groups.consumer.member import Member, Partitions
from headrace.groups.consumer.soft_state import SoftState
from headrace.groups.consumer.subscriptions import Subscriptions
from headrace.groups.group import (
    CONSUMER_PROTOCOL_TYPE,
    Group,
    GroupType,
    KeyValue,
    PartitionCheck,
)

#: Where every group begins, so that the first member to join makes it 2.
FIRST_EPOCH = 1
#: Since this version of OffsetCommit a member can give its epoch.
_COMMITS_WITH_EPOCH = 9
_NO_TARGET: Partitions = {}


class ConsumerGroup(Group):
    """The state of one group: what its records say, and no more, except for `soft`."""

    type = GroupType.CONSUMER

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.group_epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = FIRST_EPOCH
        #: 0 if the target comes from a classic group or from a version that kept no time.
        self.assignment_timestamp_ms = 0
        #: What each member is meant to own.
        self.targets: dict[str, Partitions] = {}
        self.subscriptions = Subscriptions()
        #: Before 4.1 Kafka wrote out the metadata of topics; such a record wants a tombstone.
        self.has_partition_metadata_record = False
        self.soft = SoftState()
        self._members: dict[str, Member] = {}
        self._static_ids: dict[str, str] = {}
        #: Who owns a partition, as far as the coordinator must assume.
        self._owners: dict[bytes, dict[int, str]] = {}
        self._assignor_votes: dict[str, int] = {}
        self.classic_member_count = 0
        #: How many classic members support a protocol.
        self.classic_protocols: dict[str, int] = {}

    # Members

    @property
    def members(self) -> Mapping[str, Member]:
        return self._members

    def has_member(self, member_id: str) -> bool:
        return member_id in self._members

    def require_member(self, member_id: str) -> Member:
        member = self._members.get(member_id)
        if member is None:
            raise KafkaError(
                ErrorCode.UNKNOWN_MEMBER_ID,
                f"Member {member_id} is not a member of group {self.group_id}.",
            )
        return member

    def static_member(self, instance_id: str | None) -> Member | None:
        """Who holds an instance id."""
        if instance_id is None:
            return None
        member_id = self._static_ids.get(instance_id)
        return None if member_id is None else self._members[member_id]

    def target_of(self, member: Member) -> Partitions:
        """A static member that came back under a new id has what the old one had."""
        holder = self.static_member(member.instance_id)
        return self.targets.get(member.member_id if holder is None else holder.member_id, _NO_TARGET)

    def is_owned_by_another(self, topic_id: bytes, partition: int, member_ids: Iterable[str]) -> bool:
        owner = self._owners.get(topic_id, {}).get(partition)
        return owner is not None and owner not in member_ids

    def put_member(self, member: Member) -> None:
        """A record says something new about a member."""
        old = self._members.get(member.member_id)
        self._release(old)
        self._members[member.member_id] = member
        if member.instance_id is not None:
            self._static_ids[member.instance_id] = member.member_id
        for owned in (member.assigned, member.pending_revocation):
            for topic_id, partitions in owned.items():
                owners = self._owners.setdefault(topic_id, {})
                owners.update(dict.fromkeys(partitions, member.member_id))
        self._count(old, member)

    def remove_member(self, member_id: str) -> None:
        old = self._members.get(member_id)
        if old is None:
            return
        self._release(old)
        del self._members[member_id]
        if old.instance_id is not None and self._static_ids.get(old.instance_id) == member_id:
            del self._static_ids[old.instance_id]
        self._count(old, None)

    def _release(self, member: Member | None) -> None:
        if member is None:
            return
        for owned in (member.assigned, member.pending_revocation):
            for topic_id, partitions in owned.items():
                owners = self._owners.get(topic_id, {})
                for partition in partitions:
                    # At loading, the record of the next owner may come before this one.
                    if owners.get(partition) == member.member_id:
                        del owners[partition]
                if not owners:
                    self._owners.pop(topic_id, None)

    def _count(self, old: Member | None, new: Member | None) -> None:
        self.subscriptions.replace(old, new)
        for member, step in ((old, -1), (new, 1)):
            if member is None:
                continue
            if member.server_assignor is not None:
                _add(self._assignor_votes, member.server_assignor, step)
            if member.classic is not None:
                self.classic_member_count += step
                for protocol in member.classic.supported_protocols:
                    _add(self.classic_protocols, protocol.name, step)

    def preferred_assignor(self, old: Member | None = None, new: Member | None = None) -> str | None:
        """The assignor that most members ask for, counting a member as it will be."""
        votes = dict(self._assignor_votes)
        if old is not None and old.server_assignor is not None:
            _add(votes, old.server_assignor, -1)
        if new is not None and new.server_assignor is not None:
            _add(votes, new.server_assignor, 1)
        return max(votes, key=votes.__getitem__) if votes else None

    # What every group is asked

    @property
    def state_name(self) -> str:
        if not self._members:
            return "Empty"
        if self.group_epoch > self.assignment_epoch:
            return "Assigning"
        epoch = self.assignment_epoch
        if all(member.is_reconciled_to(epoch) for member in self._members.values()):
            return "Stable"
        return "Reconciling"

    @property
    def listed_protocol_type(self) -> str:
        return CONSUMER_PROTOCOL_TYPE

    @property
    def is_empty(self) -> bool:
        return not self._members

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.subscriptions.topics

    def retention_base_ms(self, commit_timestamp_ms: int) -> int | None:
        return commit_timestamp_ms

    def tombstones(self) -> list[KeyValue]:
        return group_tombstones(self.group_id, self._members, self.subscriptions.resolved)

    def keep_alive(self, member_id: str, now_ms: int) -> SetTimer | None:
        return None

    def validate_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_or_epoch: int,
        *,
        is_transactional: bool,
        api_version: int,
    ) -> PartitionCheck | None:
        epoch = generation_or_epoch
        if epoch < 0 and not self._members:
            return None
        if is_transactional and epoch == -1 and not member_id and group_instance_id is None:
            return None  # a producer that knows nothing of the member behind it
        member = self.require_member(member_id)
        if (
            not is_transactional
            and not member.uses_classic_protocol
            and api_version < _COMMITS_WITH_EPOCH
        ):
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                "OffsetCommit version 9 or above must be used by members using the consumer"
                " group protocol",
            )
        if epoch == member.member_epoch:
            return None
        if epoch > member.member_epoch:
            raise _stale(
                member,
                f"Received {_epoch_word(member)} {epoch} is newer than current member epoch"
                f" {member.member_epoch}.",
            )
        return _AssignedInTime(member, epoch)

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        if member_id is None and member_epoch < 0:
            return
        member = self.require_member(member_id or "")
        if member_epoch != member.member_epoch:
            raise _stale(
                member,
                f"The received {_epoch_word(member)} {member_epoch} does not match the expected"
                f" member epoch {member.member_epoch}.",
            )

    def validate_offset_delete(self) -> None:
        """Always allowed; topics that are still read are refused one by one."""

    def validate_delete(self) -> None:
        if self._members:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)


class _AssignedInTime:
    """A member commits with an older epoch: fine for what it has owned since then (KIP-1251)."""

    __slots__ = ("_epoch", "_member")

    def __init__(self, member: Member, epoch: int) -> None:
        self._member = member
        self._epoch = epoch

    def __call__(self, topic: str, topic_id: bytes, partition: int) -> None:
        since = self._member.assignment_epoch(topic_id, partition)
        if since is None:
            raise _stale(
                self._member,
                f"Partition {topic}-{partition} is not assigned or pending revocation for member.",
            )
        if self._epoch < since:
            raise _stale(
                self._member,
                f"Received {_epoch_word(self._member)} {self._epoch} is older than assignment"
                f" epoch {since} for partition {topic}-{partition}.",
            )


def _stale(member: Member, message: str) -> KafkaError:
    if member.uses_classic_protocol:
        return KafkaError(ErrorCode.ILLEGAL_GENERATION, message)
    return KafkaError(ErrorCode.STALE_MEMBER_EPOCH, message)


def _epoch_word(member: Member) -> str:
    return "generation id" if member.uses_classic_protocol else "member epoch"


def _add(counts: dict[str, int], key: str, step: int) -> None:
    count = counts.get(key, 0) + step
    if count > 0:
        counts[key] = count
    else:
        counts.pop(key, None)
