"""ConsumerGroupHeartbeat: the one request with which members join, live and leave (KIP-848)."""

from __future__ import annotations

from collections.abc import Callable

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import Outcome
from headrace.groups.call import Client, GroupOutcome
from headrace.groups.consumer.config import ConsumerGroupConfig, GroupSettings
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.consumer.heartbeat_pace import Crowd, next_heartbeat_ms
from headrace.groups.consumer.heartbeat_rules import check_heartbeat
from headrace.groups.consumer.joining import dynamic_member, static_member
from headrace.groups.consumer.leaving import Leaving
from headrace.groups.consumer.lookup import check_size
from headrace.groups.consumer.member import (
    JOINING_EPOCH,
    TIMEOUT_NOT_SAID,
    Member,
    OwnedPartitions,
)
from headrace.groups.consumer.progress import Progress, Update
from headrace.groups.consumer.timers import SESSION_TIMER, set_timer
from headrace.groups.consumer.upgrading import HeartbeatCall, Upgrading
from headrace.groups.group_store import GroupStore
from headrace.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)


class Heartbeats:
    """Serves heartbeats of members of the new protocol."""

    def __init__(
        self,
        config: ConsumerGroupConfig,
        settings: GroupSettings,
        groups: GroupStore,
        progress: Progress,
        leaving: Leaving,
        upgrading: Upgrading,
        new_id: Callable[[], str],
    ) -> None:
        self._config = config
        self._settings = settings
        self._groups = groups
        self._progress = progress
        self._leaving = leaving
        self._upgrading = upgrading
        self._new_id = new_id

    def heartbeat(self, call: HeartbeatCall) -> GroupOutcome:
        request = call.request
        if not self._config.is_offered:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        check_heartbeat(request, call.client.api_version, self._config.assignors)
        if request.member_epoch < JOINING_EPOCH:
            return self._leaving.leave(call)
        outcome: GroupOutcome = Outcome()
        group = self._group(call, outcome)
        check_size(group.members, request.member_id, self._config.members_max)
        # Clients of the first version let the coordinator choose their id.
        member_id = request.member_id or self._new_id()
        old = _member(group, member_id, request, outcome)
        new = _described(old, request, call.client)
        update = Update(old, new, request.topic_partitions, call.client, call.now_ms)
        progressed = self._progress.advance(group, update, outcome)
        after = progressed.member
        timing = self._config.timing(self._settings(group.group_id))
        expires_ms = call.now_ms + timing.session_timeout_ms
        outcome.timers.append(set_timer(SESSION_TIMER, group.group_id, member_id, expires_ms))
        group.last_heard.note(member_id, call.now_ms)
        members = group.members
        silent_since_ms = group.last_heard.longest_ago_ms(members)
        crowd = Crowd(len(members), members.waiting_count, silent_since_ms)
        response = ConsumerGroupHeartbeatResponse(
            member_id=member_id,
            member_epoch=after.member_epoch,
            heartbeat_interval_ms=next_heartbeat_ms(progressed, timing, crowd, call.now_ms),
        )
        if _wants_assignment(request) or after.assigned != old.assigned:
            response.assignment = _assignment(after.assigned)
        if request.member_epoch == JOINING_EPOCH:
            self._upgrading.release(call, outcome)
        outcome.replies.append((call.token, response))
        return outcome

    def _group(self, call: HeartbeatCall, outcome: GroupOutcome) -> ConsumerGroup:
        group_id = call.request.group_id
        group = self._groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return group
        if call.request.member_epoch == JOINING_EPOCH:
            return self._upgrading.open_group(call, outcome)
        if group is None:
            message = f"Consumer group {group_id} not found."
        else:
            message = f"Group {group_id} is not a consumer group."
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, message)


def _member(
    group: ConsumerGroup,
    member_id: str,
    request: ConsumerGroupHeartbeatRequest,
    outcome: GroupOutcome,
) -> Member:
    epoch, reported = request.member_epoch, request.topic_partitions
    if request.instance_id is None:
        return dynamic_member(group, member_id, epoch, reported)
    return static_member(group, request.instance_id, member_id, epoch, reported, outcome)


def _described(member: Member, request: ConsumerGroupHeartbeatRequest, client: Client) -> Member:
    """The member with what it says anew; what it leaves out stays as it was."""
    names = request.subscribed_topic_names
    regex = request.subscribed_topic_regex
    return member.but(
        instance_id=request.instance_id or member.instance_id,
        rack_id=request.rack_id or member.rack_id,
        client_id=client.client_id,
        client_host=client.shown_host,
        rebalance_timeout_ms=member.timeout_after(request.rebalance_timeout_ms),
        subscribed_topic_names=member.subscribed_topic_names if names is None else frozenset(names),
        subscribed_topic_regex=member.subscribed_topic_regex if regex is None else regex,
        server_assignor=request.server_assignor or member.server_assignor,
        classic=None,
    )


def _wants_assignment(request: ConsumerGroupHeartbeatRequest) -> bool:
    """A member that says everything may have missed something; it hears everything again."""
    says_topics = (
        request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    )
    is_full = (
        request.rebalance_timeout_ms != TIMEOUT_NOT_SAID
        and says_topics
        and request.topic_partitions is not None
    )
    return is_full or request.member_epoch == JOINING_EPOCH


def _assignment(assigned: OwnedPartitions) -> Assignment:
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
            for topic_id, partitions in assigned.items()
        ]
    )
