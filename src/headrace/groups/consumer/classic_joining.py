"""JoinGroup to a consumer group: a member of the classic protocol joins, or joins again.

For such members an epoch is a generation. None of them is ever the leader, so none assigns: each
gets its assignment from the coordinator, with SyncGroup.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import Outcome
from headrace.groups.call import Call, GroupOutcome
from headrace.groups.classic.classic_groups import ClassicGroups
from headrace.groups.classic.replies import not_joined
from headrace.groups.consumer.classic_description import described, joined, subscription_of
from headrace.groups.consumer.classic_waiting import ClassicWaiting
from headrace.groups.consumer.config import ConsumerGroupConfig, MigrationPolicy
from headrace.groups.consumer.downgrading import Downgrading
from headrace.groups.consumer.embedded_protocol import owned_partitions
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.consumer.joining import take_place
from headrace.groups.consumer.lookup import check_size, require_static_member
from headrace.groups.consumer.member import Member
from headrace.groups.consumer.progress import Progress, Update
from headrace.groups.consumer.target_assignment import last_target
from headrace.groups.group import CONSUMER_PROTOCOL_TYPE
from headrace.groups.group_store import GroupStore
from headrace.groups.topics import Topics
from headrace.protocol.messages.join_group import JoinGroupRequest

#: Since this version a client first gets its id, then joins with it (KIP-394).
_REQUIRES_KNOWN_MEMBER_ID = 4

JoinCall = Call[JoinGroupRequest]


class ClassicJoining:
    """Serves JoinGroup where the group is a consumer group."""

    def __init__(
        self,
        config: ConsumerGroupConfig,
        groups: GroupStore,
        topics: Topics,
        classic: ClassicGroups,
        progress: Progress,
        downgrading: Downgrading,
        waiting: ClassicWaiting,
        new_id: Callable[[], str],
    ) -> None:
        self._config = config
        self._groups = groups
        self._topics = topics
        self._classic = classic
        self._progress = progress
        self._downgrading = downgrading
        self._waiting = waiting
        self._new_id = new_id

    def join(self, call: JoinCall) -> GroupOutcome:
        request = call.request
        group = self._groups.require(request.group_id)
        assert isinstance(group, ConsumerGroup)  # noqa: S101 - only those come here
        if group.is_empty:
            return self._start_classic(call, group)
        self._classic.joining.check(request)
        if self._config.migration_policy is MigrationPolicy.DISABLED:
            raise KafkaError(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
                f"Cannot join the consumer group {group.group_id} with the classic protocol because"
                " the group migration is disabled.",
            )
        member_id = request.member_id or self._new_id()
        check_size(group.members, member_id, self._config.members_max)
        _check_protocols(group, request, member_id)
        must_know_id = call.client.api_version >= _REQUIRES_KNOWN_MEMBER_ID
        if not request.member_id and request.group_instance_id is None and must_know_id:
            return call.answer(not_joined(member_id, ErrorCode.MEMBER_ID_REQUIRED))
        return self._join(call, group, member_id)

    def _start_classic(self, call: JoinCall, group: ConsumerGroup) -> GroupOutcome:
        """Nobody is there any more, so the group may become whatever its next member speaks."""
        self._groups.remove(group.group_id)
        try:
            outcome = self._classic.joining.join(call)
        finally:
            if self._groups.get(group.group_id) is None:
                self._groups.put(group)  # the member was refused
        if self._groups.get(group.group_id) is group:
            return outcome
        outcome.records[:0] = group.tombstones()
        undo = outcome.if_failed

        def failed(error: KafkaError, now_ms: int) -> GroupOutcome:
            undone = call.answer(error) if undo is None else undo(error, now_ms)
            self._groups.put(group)
            return undone

        outcome.if_failed = failed
        return outcome

    def _join(self, call: JoinCall, group: ConsumerGroup, member_id: str) -> GroupOutcome:
        request = call.request
        outcome: GroupOutcome = Outcome()
        holder = group.members.static(request.group_instance_id)
        old = self._member(group, member_id, request, outcome)
        subscription = subscription_of(request)
        new = described(old, call, subscription)
        reported = owned_partitions(subscription, self._topics)
        update = Update(old, new, reported, call.client, call.now_ms)
        if holder is not None and self._downgrading.is_due_for_replacement(group, holder):
            after = self._downgrade(group, holder, update, outcome)
        else:
            after = self._progress.advance(group, update, outcome).member
            outcome.timers += self._waiting.joined(group, after, call.now_ms)
        outcome.replies.append((call.token, joined(after)))
        return outcome

    def _member(
        self,
        group: ConsumerGroup,
        member_id: str,
        request: JoinGroupRequest,
        outcome: GroupOutcome,
    ) -> Member:
        instance_id = request.group_instance_id
        if instance_id is not None and request.member_id:
            return require_static_member(group, instance_id, member_id)
        holder = group.members.static(instance_id)
        if holder is not None:
            return take_place(group, holder, member_id, outcome)
        return group.members.get(member_id) or Member(member_id)

    def _downgrade(
        self, group: ConsumerGroup, holder: Member, update: Update, outcome: GroupOutcome
    ) -> Member:
        """The last member of the new protocol came back with the classic one."""
        changed = self._progress.subscribe(group, update, outcome)
        must_rebalance = group.assignment_epoch < changed.change.group_epoch
        after = update.new
        if not must_rebalance:
            target = last_target(group, update.new)
            after = self._progress.step(group, update, changed, target, outcome)
        self._downgrading.when_replaced(
            group,
            holder,
            after,
            must_rebalance=must_rebalance,
            now_ms=update.now_ms,
            outcome=outcome,
        )
        return after


def _check_protocols(group: ConsumerGroup, request: JoinGroupRequest, member_id: str) -> None:
    """There must be a protocol that every member of the classic protocol has."""
    members = group.members
    fits = request.protocol_type == CONSUMER_PROTOCOL_TYPE and any(
        members.classic_protocols.get(one.name, 0) == members.classic_count
        for one in request.protocols
    )
    if not fits:
        raise KafkaError(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            f"Member {member_id}'s protocols are not supported.",
        )
