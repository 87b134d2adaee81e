"""Answers to JoinGroup and SyncGroup, in the ways that a rebalance gives them."""

from __future__ import annotations

from headrace.base.errors import ErrorCode
from headrace.groups.classic.group import ClassicGroup
from headrace.groups.classic.member import ClassicMember
from headrace.protocol.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from headrace.protocol.messages.sync_group import SyncGroupResponse


def joined(
    group: ClassicGroup, member_id: str, *, for_leader: bool, skip_assignment: bool = False
) -> JoinGroupResponse:
    """The member is in the current generation; the leader hears of all members."""
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader or "",
        skip_assignment=skip_assignment,
        member_id=member_id,
        members=current_members(group) if for_leader else [],
    )


def not_joined(member_id: str, error: ErrorCode) -> JoinGroupResponse:
    return JoinGroupResponse(member_id=member_id, error_code=int(error))


def fenced_join(member_id: str) -> JoinGroupResponse:
    """Another client took over the instance id while this one waited."""
    return JoinGroupResponse(
        member_id=member_id,
        error_code=int(ErrorCode.FENCED_INSTANCE_ID),
        protocol_type=None,
        protocol_name=None,
    )


def synced(group: ClassicGroup, assignment: bytes) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        assignment=assignment,
    )


def not_synced(error: ErrorCode) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=int(error))


def current_members(group: ClassicGroup) -> list[JoinGroupResponseMember]:
    """What the leader assigns by."""
    protocol = group.protocol_name or ""
    return [
        JoinGroupResponseMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            metadata=member.metadata(protocol),
        )
        for member in group.members
    ]


def take_join_token(group: ClassicGroup, member: ClassicMember) -> int | None:
    """Who waits for this member's join; from now on nobody does."""
    return group.members.await_join(member, None)


def take_sync_token(member: ClassicMember) -> int | None:
    token, member.sync_token = member.sync_token, None
    return token
