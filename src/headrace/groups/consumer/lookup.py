"""Finding groups and members for a request, with Kafka's errors for those who do not belong."""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.groups.classic.members import Members as ClassicMembers
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.consumer.member import JOINING_EPOCH, Member, Reported, owns_only
from headrace.groups.consumer.members import Members
from headrace.groups.group_store import GroupStore


def require_consumer_group(groups: GroupStore, group_id: str) -> ConsumerGroup:
    group = groups.require(group_id)
    if not isinstance(group, ConsumerGroup):
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
    return group


def require_static_member(group: ConsumerGroup, instance_id: str, member_id: str) -> Member:
    """The holder of an instance id, if that is who asks."""
    member = group.members.static(instance_id)
    if member is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if member.member_id != member_id:
        raise KafkaError(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member"
            f" {member.member_id}.",
        )
    return member


def check_epoch(member: Member, epoch: int, reported: Reported) -> None:
    """A member may be one epoch behind if our answer got lost and it has nothing it should not."""
    if epoch in (JOINING_EPOCH, member.member_epoch):
        return
    if epoch < member.member_epoch and (
        epoch == member.previous_member_epoch and owns_only(reported, member.assigned)
    ):
        return
    relation = "greater" if epoch > member.member_epoch else "smaller"
    raise KafkaError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {relation} member epoch ({epoch}) than the one known by"
        f" the group coordinator ({member.member_epoch}). The member must abandon all its"
        " partitions and rejoin.",
    )


def check_size(members: ClassicMembers | Members, member_id: str, members_max: int) -> None:
    """A group of either protocol that is full takes no further member."""
    if len(members) >= members_max and member_id not in members:
        raise KafkaError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of {members_max} members.",
        )
