"""Which member a heartbeat comes from; those who come for the first time are made here."""

from __future__ import annotations

import logging

from headrace.base.errors import ErrorCode, KafkaError
from headrace.groups.call import GroupOutcome
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.consumer.lookup import check_epoch, require_static_member
from headrace.groups.consumer.member import (
    JOINING_EPOCH,
    STATIC_LEFT_EPOCH,
    Member,
    Reported,
)
from headrace.groups.consumer.member_records import (
    current_assignment_record,
    member_tombstones,
    subscription_record,
    target_assignment_record,
)
from headrace.groups.consumer.timers import cancel_all

logger = logging.getLogger(__name__)


def dynamic_member(group: ConsumerGroup, member_id: str, epoch: int, reported: Reported) -> Member:
    """A member known by its id alone."""
    member = group.members.get(member_id)
    if member is None and epoch == JOINING_EPOCH:
        logger.info("Member %s joins group %s", member_id, group.group_id)
        return Member(member_id)
    member = group.members.require(member_id)
    check_epoch(member, epoch, reported)
    return member


def static_member(
    group: ConsumerGroup,
    instance_id: str,
    member_id: str,
    epoch: int,
    reported: Reported,
    outcome: GroupOutcome,
) -> Member:
    """A member with an instance id; it may come back under a new member id (KIP-345)."""
    if epoch != JOINING_EPOCH:
        member = require_static_member(group, instance_id, member_id)
        check_epoch(member, epoch, reported)
        return member
    holder = group.members.static(instance_id)
    if holder is None:
        logger.info("Member %s joins group %s as %s", member_id, group.group_id, instance_id)
        return group.members.get(member_id) or Member(member_id)
    if not holder.uses_classic_protocol and holder.member_epoch != STATIC_LEFT_EPOCH:
        raise KafkaError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} cannot join the group"
            f" because the instance id is owned by {holder.member_id} member.",
        )
    return take_place(group, holder, member_id, outcome)


def take_place(
    group: ConsumerGroup, holder: Member, member_id: str, outcome: GroupOutcome
) -> Member:
    """The same member under another id: it has all that the holder had."""
    logger.info("Member %s of group %s is now %s", holder.member_id, group.group_id, member_id)
    member = holder.but(
        member_id=member_id, member_epoch=JOINING_EPOCH, previous_member_epoch=JOINING_EPOCH
    )
    target = group.targets.get(holder.member_id, {})
    outcome.records += [
        *member_tombstones(group.group_id, holder.member_id),
        subscription_record(group.group_id, member),
        target_assignment_record(group.group_id, member_id, target),
        current_assignment_record(group.group_id, member),
    ]
    if holder.member_id != member_id:
        outcome.timers += cancel_all(group.group_id, holder)
    return member
