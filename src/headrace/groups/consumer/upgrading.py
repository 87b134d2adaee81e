"""A member of the new protocol joins a group that is not a consumer group yet.

A classic group with members becomes a consumer group on the spot: its members keep what they have,
and go on with the classic protocol until they are restarted with the new one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import Outcome, SetTimer
from headrace.groups.call import Call, GroupOutcome
from headrace.groups.classic.group import ClassicGroup
from headrace.groups.classic.member import ClassicMember
from headrace.groups.classic.replies import (
    not_joined,
    not_synced,
    take_join_token,
    take_sync_token,
)
from headrace.groups.classic.states import State
from headrace.groups.consumer.assignors.spec import Steps
from headrace.groups.consumer.config import ConsumerGroupConfig
from headrace.groups.consumer.embedded_protocol import (
    assigned_partitions,
    read_assignment,
    read_subscription,
)
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.consumer.group_records import assignment_epoch_record, epoch_record
from headrace.groups.consumer.lookup import check_size
from headrace.groups.consumer.member import Member, Partitions
from headrace.groups.consumer.member_records import (
    current_assignment_record,
    subscription_record,
    target_assignment_record,
)
from headrace.groups.consumer.metadata_hash import MetadataHashes
from headrace.groups.consumer.regexes import check_regex
from headrace.groups.consumer.timers import SESSION_TIMER
from headrace.groups.group import KeyValue
from headrace.groups.group_store import GroupStore
from headrace.groups.preparation import Preparation
from headrace.groups.records import ClassicMemberMetadata, ClassicProtocol
from headrace.groups.timer_names import TimerName
from headrace.groups.topics import Topics
from headrace.protocol.errors import ProtocolError
from headrace.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

logger = logging.getLogger(__name__)

HeartbeatCall = Call[ConsumerGroupHeartbeatRequest]


class _Upgraded(NamedTuple):
    """A classic group as a consumer group."""

    group: ConsumerGroup
    records: list[KeyValue]
    #: The session timers of its members, with their time-outs.
    sessions: list[tuple[str, int]]


class Upgrading:
    """Opens groups for members of the new protocol."""

    def __init__(
        self,
        config: ConsumerGroupConfig,
        groups: GroupStore,
        topics: Topics,
        hashes: MetadataHashes,
    ) -> None:
        self._config = config
        self._groups = groups
        self._topics = topics
        self._hashes = hashes
        self._prepared: Preparation[_Upgraded] = Preparation()

    def open_group(self, call: HeartbeatCall, outcome: GroupOutcome) -> ConsumerGroup:
        """A consumer group that is there once the records of the outcome are applied."""
        request = call.request
        group_id = request.group_id
        group = self._groups.get(group_id)
        if group is None:
            return ConsumerGroup(group_id)
        if isinstance(group, ClassicGroup):
            if group.is_empty:
                outcome.records += group.tombstones()
                return ConsumerGroup(group_id)
            self._check(group)
            check_size(group.members, request.member_id, self._config.members_max)
            if request.subscribed_topic_regex:
                # Before the group is converted, which for a large one takes a while.
                check_regex(request.subscribed_topic_regex)
            return self._upgrade(group, call.now_ms, outcome)
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")

    def release(self, call: HeartbeatCall, outcome: GroupOutcome) -> None:
        """Whoever waits for a rebalance joins again, into the group that `open_group` made.

        Comes last: if the new member is refused after all, they go on waiting. If the group cannot
        be written, they join the classic group again, and only the new member hears of the error.
        """
        old = self._groups.get(call.request.group_id)
        if not isinstance(old, ClassicGroup) or old.is_empty:
            return
        logger.info("Classic group %s becomes a consumer group", old.group_id)
        error = ErrorCode.REBALANCE_IN_PROGRESS
        released: list[tuple[int, Any]] = []
        for classic in old.members:
            token = take_join_token(old, classic)
            if token is not None:
                released.append((token, not_joined(classic.member_id, error)))
            token = take_sync_token(classic)
            if token is not None:
                released.append((token, not_synced(error)))
        outcome.replies += released
        outcome.if_failed = lambda failure, _: Outcome(replies=[*released, (call.token, failure)])

    def _check(self, group: ClassicGroup) -> None:
        if not self._config.migration_policy.allows_upgrade:
            _refuse(group, "online upgrade is disabled")
        if not group.uses_consumer_protocol:
            _refuse(group, "the group does not use the consumer embedded protocol")
        if len(group.members) > self._config.members_max:
            _refuse(group, "the group size exceeds the consumer group maximum size")

    def _upgrade(self, old: ClassicGroup, now_ms: int, outcome: GroupOutcome) -> ConsumerGroup:
        try:
            upgraded = self._prepared.require(
                (old.group_id, old.generation, len(old.members)),
                lambda: self._converted(old),
                is_large=len(old.members) > self._config.converted_at_once_max,
            )
        except ProtocolError:
            _refuse(old, "the embedded consumer protocol is malformed")
        outcome.records += old.tombstones()
        outcome.records += upgraded.records
        outcome.timers += [
            SetTimer(name, now_ms + timeout_ms) for name, timeout_ms in upgraded.sessions
        ]
        upgraded.group.was_rebalancing = old.state is not State.STABLE
        return upgraded.group

    def _converted(self, old: ClassicGroup) -> Steps[_Upgraded]:
        """The generation becomes the epoch, the assignments become the target."""
        group = ConsumerGroup(old.group_id)
        group.group_epoch = group.assignment_epoch = old.generation
        protocol = old.protocol_name
        if protocol is None and len(old.members):
            protocol = old.members.elected_protocol()
        sessions = []
        for classic in old.members:
            assigned = self._assigned(old, classic)
            group.targets[classic.member_id] = assigned
            group.members.put(_member(classic, protocol or "", old.generation, assigned))
            name = str(TimerName(SESSION_TIMER, old.group_id, classic.member_id))
            sessions.append((name, classic.session_timeout_ms))
            yield
        group.metadata_hash = self._hashes.of_group(group.members.subscriptions.topics)
        records = []
        for record in _records(group):
            records.append(record)
            yield
        return _Upgraded(group, records, sessions)

    def _assigned(self, group: ClassicGroup, member: ClassicMember) -> Partitions:
        if not member.assignment:
            return {}  # it has joined, but never got its assignment
        assignment = read_assignment(member.assignment)
        if assignment.user_data:
            _refuse(
                group,
                "an unsupported custom assignor is in use. Please refer to the documentation or"
                " switch to a default assignor before re-attempting the upgrade",
            )
        return assigned_partitions(assignment, self._topics)


def _member(classic: ClassicMember, protocol: str, epoch: int, assigned: Partitions) -> Member:
    subscription = read_subscription(classic.metadata(protocol))
    return Member(
        classic.member_id,
        instance_id=classic.group_instance_id,
        rack_id=subscription.rack_id or None,
        client_id=classic.client_id,
        client_host=classic.client_host,
        rebalance_timeout_ms=classic.rebalance_timeout_ms,
        subscribed_topic_names=frozenset(subscription.topics),
        classic=ClassicMemberMetadata(
            session_timeout_ms=classic.session_timeout_ms,
            supported_protocols=[
                ClassicProtocol(name=one.name, metadata=one.metadata) for one in classic.protocols
            ],
        ),
        member_epoch=epoch,
        previous_member_epoch=epoch,
        assigned={
            topic_id: dict.fromkeys(sorted(partitions), epoch)
            for topic_id, partitions in assigned.items()
        },
    )


def _records(group: ConsumerGroup) -> Iterator[KeyValue]:
    """All that there is to say about a group that no record knows."""
    group_id = group.group_id
    for member in group.members:
        yield subscription_record(group_id, member)
    yield epoch_record(group_id, group.group_epoch, group.metadata_hash)
    for member_id, target in group.targets.items():
        yield target_assignment_record(group_id, member_id, target)
    yield assignment_epoch_record(group_id, group.assignment_epoch, group.assignment_timestamp_ms)
    for member in group.members:
        yield current_assignment_record(group_id, member)


def _refuse(group: ClassicGroup, reason: str) -> NoReturn:
    raise KafkaError(
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Cannot upgrade classic group {group.group_id} to consumer group because {reason}.",
    )
