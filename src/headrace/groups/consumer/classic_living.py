"""SyncGroup, Heartbeat and LeaveGroup of members of the classic protocol in a consumer group."""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import Outcome
from headrace.groups.call import Call, GroupOutcome
from headrace.groups.consumer.classic_waiting import ClassicWaiting
from headrace.groups.consumer.embedded_protocol import version_of, write_assignment
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.consumer.leaving import Leaving
from headrace.groups.consumer.lookup import require_consumer_group, require_static_member
from headrace.groups.consumer.member import Member, MemberState
from headrace.groups.consumer.target_assignment import TargetAssignments
from headrace.groups.group import CONSUMER_PROTOCOL_TYPE
from headrace.groups.group_store import GroupStore
from headrace.groups.topics import Topics
from headrace.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from headrace.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from headrace.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse


class ClassicLiving:
    """Serves members that have joined."""

    def __init__(
        self,
        groups: GroupStore,
        topics: Topics,
        targets: TargetAssignments,
        leaving: Leaving,
        waiting: ClassicWaiting,
    ) -> None:
        self._groups = groups
        self._topics = topics
        self._targets = targets
        self._leaving = leaving
        self._waiting = waiting

    def sync(self, call: Call[SyncGroupRequest]) -> GroupOutcome:
        request = call.request
        group = require_consumer_group(self._groups, request.group_id)
        member = self._require(group, request)
        assert member.classic is not None  # noqa: S101 - the line above saw to it
        protocol = member.classic.supported_protocols[0]
        _check_protocol(request, protocol.name)
        is_revoking = member.state is MemberState.UNREVOKED_PARTITIONS
        if group.assignment_epoch > member.member_epoch and not is_revoking:
            # Only for a target that is there: who joins for one that is not made yet would come
            # back at once, again and again until it is.
            outcome = call.answer(
                SyncGroupResponse(error_code=int(ErrorCode.REBALANCE_IN_PROGRESS))
            )
            outcome.timers += self._waiting.asked_to_join(group, member, call.now_ms)
            return outcome
        assignment = write_assignment(
            member.assigned, self._topics, version_of(bytes(protocol.metadata))
        )
        outcome = call.answer(
            SyncGroupResponse(
                protocol_type=request.protocol_type,
                protocol_name=request.protocol_name,
                assignment=assignment,
            )
        )
        outcome.timers += self._waiting.synced(group, member, call.now_ms)
        return outcome

    def heartbeat(self, call: Call[HeartbeatRequest]) -> GroupOutcome:
        group = require_consumer_group(self._groups, call.request.group_id)
        member = self._require(group, call.request)
        response = HeartbeatResponse()
        outcome = call.answer(response)
        outcome.timers.append(self._waiting.alive(group, member, call.now_ms))
        if _must_join_again(group, member) or self._must_ask_for_target(group, call.now_ms):
            response.error_code = int(ErrorCode.REBALANCE_IN_PROGRESS)
            outcome.timers += self._waiting.asked_to_join(group, member, call.now_ms)
        return outcome

    def leave(self, call: Call[LeaveGroupRequest]) -> GroupOutcome:
        group = require_consumer_group(self._groups, call.request.group_id)
        response = LeaveGroupResponse()
        gone: dict[str, Member] = {}
        for identity in call.request.members:
            answer = MemberResponse(
                member_id=identity.member_id, group_instance_id=identity.group_instance_id
            )
            response.members.append(answer)
            try:
                member = _leaving_member(group, identity)
            except KafkaError as error:
                answer.error_code = int(error.code)
            else:
                gone[member.member_id] = member
                self._waiting.gone(group, member)
        outcome: GroupOutcome = Outcome()
        self._leaving.remove(group, list(gone.values()), call.now_ms, outcome)
        outcome.replies.append((call.token, response))
        return outcome

    def _must_ask_for_target(self, group: ConsumerGroup, now_ms: int) -> bool:
        """The next target is due, and a join by one of these members is all that brings it."""
        return (
            group.assignment_epoch < group.group_epoch
            and group.has_all_classic_but([])
            and not self._targets.is_too_early(group, now_ms)
        )

    def _require(
        self, group: ConsumerGroup, request: SyncGroupRequest | HeartbeatRequest
    ) -> Member:
        if request.group_instance_id is None:
            member = group.members.require(request.member_id)
        else:
            member = require_static_member(group, request.group_instance_id, request.member_id)
        if not member.uses_classic_protocol:
            raise KafkaError(
                ErrorCode.UNKNOWN_MEMBER_ID,
                f"Member {member.member_id} does not use the classic protocol.",
            )
        if request.generation_id != member.member_epoch:
            raise KafkaError(
                ErrorCode.ILLEGAL_GENERATION,
                f"The request generation id {request.generation_id} is not equal to the member"
                f" epoch {member.member_epoch} of member {member.member_id}.",
            )
        return member


def _must_join_again(group: ConsumerGroup, member: Member) -> bool:
    """There is a newer target, or something to give up, or something that has become free."""
    if member.member_epoch < group.assignment_epoch:
        return True
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        return True
    return member.state is MemberState.UNRELEASED_PARTITIONS and not any(
        group.members.owner(topic_id, partition) is not None
        for topic_id, partitions in group.targets.get(member.member_id, {}).items()
        for partition in partitions
        if partition not in member.assigned.get(topic_id, ())
    )


def _leaving_member(group: ConsumerGroup, identity: MemberIdentity) -> Member:
    instance_id = identity.group_instance_id
    if instance_id is None:
        return group.members.require(identity.member_id)
    holder = group.members.static(instance_id)
    # An administrator removes whoever holds the instance id.
    member_id = identity.member_id or ("" if holder is None else holder.member_id)
    return require_static_member(group, instance_id, member_id)


def _check_protocol(request: SyncGroupRequest, name: str) -> None:
    type_differs = request.protocol_type not in (None, CONSUMER_PROTOCOL_TYPE)
    if type_differs or request.protocol_name not in (None, name):
        raise KafkaError(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            f"Member {request.member_id} uses protocol {name} of type {CONSUMER_PROTOCOL_TYPE}.",
        )
