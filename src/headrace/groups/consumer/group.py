"""A consumer group (KIP-848): members say what they read, the coordinator says who owns what.

Three epochs tell how far things are. The group epoch rises whenever members, subscriptions or
topics change. The assignment epoch is the group epoch for which the target assignment was made.
The member epoch is the target that a member has reached; each one gets there at its own pace, with
its own heartbeats, so nobody has to stop.
"""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.groups.consumer.group_records import group_tombstones
from headrace.groups.consumer.last_heard import LastHeard
from headrace.groups.consumer.member import Member, Partitions
from headrace.groups.consumer.members import Members
from headrace.groups.consumer.offset_rights import check_fetch, commit_check
from headrace.groups.group import (
    CONSUMER_PROTOCOL_TYPE,
    Group,
    GroupType,
    KeyValue,
    PartitionCheck,
)

#: Where every group begins, so that the first member to join makes it 2.
FIRST_EPOCH = 1
_NOTHING: Partitions = {}
_REFRESH_INTERVAL_MS = 2**31 - 1


class ConsumerGroup(Group):
    """The state of one group: what its records say, except where said otherwise."""

    type = GroupType.CONSUMER

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.group_epoch = FIRST_EPOCH
        #: Of the topics that the group read when its epoch was last raised.
        self.metadata_hash = 0
        self.assignment_epoch = FIRST_EPOCH
        #: 0 if the target comes from a classic group, or from a version that kept no time.
        self.assignment_timestamp_ms = 0
        #: What each member is meant to own, by member id.
        self.targets: dict[str, Partitions] = {}
        self.members = Members(group_id)
        #: Before 4.1 Kafka wrote out the metadata of topics; such a record wants a tombstone.
        self.has_partition_metadata_record = False
        #: A classic group until this request, whose last assignment does not know all its members.
        self.was_rebalancing = False
        #: Members of the new protocol; those of the classic one have their own pace.
        self.last_heard = LastHeard()
        # Soft state, lost with the coordinator: until when, and for which epoch, the topics were
        # last compared with the hash.
        self._metadata_checked_until_ms = 0
        self._metadata_checked_for_epoch = 0

    @property
    def subscriptions_are_all_the_same(self) -> bool:
        return self.members.subscriptions.are_all_the_same(len(self.members))

    def target_of(self, member: Member) -> Partitions:
        """A static member that comes back under a new id has what the old one had."""
        holder = self.members.static(member.instance_id)
        member_id = member.member_id if holder is None else holder.member_id
        return self.targets.get(member_id, _NOTHING)

    def has_all_classic_but(self, leaving: list[Member]) -> bool:
        """Whether only members of the classic protocol stay when these are gone."""
        leaving_classic = sum(member.uses_classic_protocol for member in leaving)
        return self.members.classic_count - leaving_classic == len(self.members) - len(leaving)

    # Whether the topics have to be looked at again

    def must_check_metadata(self, now_ms: int) -> bool:
        return (
            now_ms >= self._metadata_checked_until_ms
            or self.group_epoch < self._metadata_checked_for_epoch
        )

    def metadata_checked(self, epoch: int, now_ms: int) -> None:
        """It is up to date once the group has that epoch: the record may still get lost."""
        self._metadata_checked_until_ms = now_ms + _REFRESH_INTERVAL_MS
        self._metadata_checked_for_epoch = epoch

    def topics_changed(self) -> None:
        self._metadata_checked_until_ms = 0

    # What every group is asked

    @property
    def state_name(self) -> str:
        if not self.members:
            return "Empty"
        if self.group_epoch > self.assignment_epoch:
            return "Assigning"
        epoch = self.assignment_epoch
        if all(member.is_reconciled_to(epoch) for member in self.members):
            return "Stable"
        return "Reconciling"

    @property
    def listed_protocol_type(self) -> str:
        return CONSUMER_PROTOCOL_TYPE

    @property
    def is_empty(self) -> bool:
        return not self.members

    def has_member(self, member_id: str) -> bool:
        return member_id in self.members

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.members.subscriptions.topics

    def retention_base_ms(self, commit_timestamp_ms: int) -> int | None:
        return commit_timestamp_ms

    def tombstones(self) -> list[KeyValue]:
        regexes = self.members.subscriptions.resolved
        return group_tombstones(self.group_id, self.members.ids, regexes)

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
        if epoch < 0 and not self.members:
            return None
        if is_transactional and epoch == -1 and not member_id and group_instance_id is None:
            return None  # a producer that says nothing of the member behind it
        member = self.members.require(member_id)
        return commit_check(
            member, epoch, is_transactional=is_transactional, api_version=api_version
        )

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        if member_id is not None or member_epoch >= 0:
            check_fetch(self.members.require(member_id or ""), member_epoch)

    def validate_offset_delete(self) -> None:
        """Always allowed; topics that are still read are refused one by one."""

    def validate_delete(self) -> None:
        if self.members:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
