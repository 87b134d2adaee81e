"""A classic group as its record in `__consumer_offsets`, and back."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.groups.classic.group import ClassicGroup
from headrace.groups.classic.member import ClassicMember, MemberProtocol
from headrace.groups.classic.states import State
from headrace.groups.group import KeyValue
from headrace.groups.records import GroupMetadataKey, GroupMetadataValue, MemberMetadata

_NO_TIMESTAMP = -1
_NO_TIMEOUT = -1


def group_record(group: ClassicGroup, assignments: Mapping[str, bytes]) -> KeyValue:
    """The group in its current generation, with these assignments by member id."""
    value = group_head(group)
    value.members = [
        member_metadata(group, member, assignments.get(member.member_id, b""))
        for member in group.members
    ]
    return GroupMetadataKey(group=group.group_id), value


def group_head(group: ClassicGroup) -> GroupMetadataValue:
    """What its record says of the group as a whole, without members."""
    return GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=group.protocol_name,
        leader=group.leader,
        current_state_timestamp=_timestamp(group),
    )


def member_metadata(
    group: ClassicGroup, member: ClassicMember, assignment: bytes
) -> MemberMetadata:
    return MemberMetadata(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout=member.rebalance_timeout_ms,
        session_timeout=member.session_timeout_ms,
        subscription=member.metadata(group.protocol_name or ""),
        assignment=assignment,
    )


def new_group_record(group: ClassicGroup) -> KeyValue:
    """A group that somebody is about to join: before its first generation, without members."""
    value = GroupMetadataValue(
        protocol_type="",
        generation=0,
        protocol=None,
        leader=None,
        current_state_timestamp=_timestamp(group),
    )
    return GroupMetadataKey(group=group.group_id), value


def restored_group(group_id: str, value: GroupMetadataValue) -> ClassicGroup:
    """A group as the log has it, when it is loaded."""
    group = ClassicGroup(group_id)
    _take_head(group, value)
    group.state = State.STABLE if value.members else State.EMPTY
    for stored in value.members:
        has_own = stored.rebalance_timeout != _NO_TIMEOUT
        member = ClassicMember(
            stored.member_id,
            stored.group_instance_id,
            stored.client_id,
            stored.client_host,
            stored.rebalance_timeout if has_own else stored.session_timeout,
            stored.session_timeout,
            (MemberProtocol(value.protocol or "", bytes(stored.subscription)),),
            bytes(stored.assignment),
        )
        group.members.add(member)
    if group.leader is None or group.leader not in group.members:
        group.leader = next((member.member_id for member in group.members), None)
    group.update_subscribed_topics()
    return group


def take_over(group: ClassicGroup, value: GroupMetadataValue) -> None:
    """The record of a group that lives here is safe: its assignments count from now on.

    Members, and a rebalance that is under way, are ahead of the log and stay as they are.
    """
    if group.state is State.COMPLETING_REBALANCE and value.generation == group.generation:
        group.enter(State.STABLE, value.current_state_timestamp)
    if group.state is not State.STABLE:
        return
    for stored in value.members:
        if stored.member_id in group.members:
            group.members[stored.member_id].assignment = bytes(stored.assignment)


def _take_head(group: ClassicGroup, value: GroupMetadataValue) -> None:
    group.generation = value.generation
    group.protocol_type = value.protocol_type or None
    group.protocol_name = value.protocol
    group.leader = value.leader
    known = value.current_state_timestamp != _NO_TIMESTAMP
    group.state_timestamp_ms = value.current_state_timestamp if known else None


def _timestamp(group: ClassicGroup) -> int:
    return _NO_TIMESTAMP if group.state_timestamp_ms is None else group.state_timestamp_ms
