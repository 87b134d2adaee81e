"""The last member of the new protocol goes, and the others still speak the classic one.

Then the group becomes a classic group again: members keep what they were meant to have, and a
rebalance gives them the rest.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import repeat
from typing import NamedTuple

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import CancelTimer, SetTimer
from headrace.groups.call import GroupOutcome
from headrace.groups.classic.classic_groups import ClassicGroups
from headrace.groups.classic.group import ClassicGroup
from headrace.groups.classic.group_record import group_head, member_metadata
from headrace.groups.classic.member import ClassicMember, MemberProtocol
from headrace.groups.classic.states import State
from headrace.groups.consumer.assignors.spec import Steps, finish
from headrace.groups.consumer.config import ConsumerGroupConfig
from headrace.groups.consumer.embedded_protocol import version_of, write_assignment
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.consumer.group_records import tombstones_in_steps
from headrace.groups.consumer.member import Member
from headrace.groups.consumer.timers import cancel_all
from headrace.groups.group import CONSUMER_PROTOCOL_TYPE, KeyValue
from headrace.groups.preparation import Preparation
from headrace.groups.records import GroupMetadataKey
from headrace.groups.topics import Topics
from headrace.protocol.errors import ProtocolError

logger = logging.getLogger(__name__)


class _Downgraded(NamedTuple):
    """A consumer group as a classic group."""

    group: ClassicGroup
    records: list[KeyValue]
    #: The timers that its members do not need any more.
    over: list[SetTimer | CancelTimer]


class Downgrading:
    """Turns consumer groups into classic ones."""

    def __init__(
        self,
        config: ConsumerGroupConfig,
        classic_members_max: int,
        classic: ClassicGroups,
        topics: Topics,
    ) -> None:
        self._config = config
        self._classic_members_max = classic_members_max
        self._classic = classic
        self._topics = topics
        self._prepared: Preparation[_Downgraded] = Preparation()

    def when_gone(
        self, group: ConsumerGroup, gone: Sequence[Member], now_ms: int, outcome: GroupOutcome
    ) -> bool:
        """Members leave; True if that makes the group a classic one."""
        count = len(group.members) - len(gone)
        if not count or not self._is_due(group, gone, count):
            return False
        gone_ids = frozenset(member.member_id for member in gone)
        stay = [member for member in group.members if member.member_id not in gone_ids]
        converted = self._prepared.require(
            (group.group_id, group.group_epoch, gone_ids),
            lambda: self._converted(group, stay, group.members.ids, now_ms),
            is_large=count > self._config.converted_at_once_max,
        )
        classic = self._become(converted, now_ms, outcome)
        self._classic.rebalance.prepare(classic, "the group is classic again", now_ms, outcome)
        return True

    def is_due_for_replacement(self, group: ConsumerGroup, holder: Member) -> bool:
        """Whether a static member of the classic protocol in this place leaves none of the new."""
        return not holder.uses_classic_protocol and self._is_due(
            group, [holder], len(group.members)
        )

    def when_replaced(
        self,
        group: ConsumerGroup,
        holder: Member,
        member: Member,
        *,
        must_rebalance: bool,
        now_ms: int,
        outcome: GroupOutcome,
    ) -> None:
        """`member` has taken the place of `holder`, the last one of the new protocol."""
        stay = [member if one.member_id == holder.member_id else one for one in group.members]
        # At once: the member that comes may have another id when it comes again.
        steps = self._converted(group, stay, [one.member_id for one in stay], now_ms)
        classic = self._become(finish(steps), now_ms, outcome)
        if must_rebalance:
            reason = "the group is classic again, with an old assignment"
            self._classic.rebalance.prepare(classic, reason, now_ms, outcome)

    def _is_due(self, group: ConsumerGroup, gone: Sequence[Member], count: int) -> bool:
        return (
            group.has_all_classic_but(list(gone))
            and self._config.migration_policy.allows_downgrade
            and count <= self._classic_members_max
        )

    def _converted(
        self,
        group: ConsumerGroup,
        stay: Sequence[Member],
        forgotten_ids: Sequence[str],
        now_ms: int,
    ) -> Steps[_Downgraded]:
        """The epoch becomes the generation, the target becomes the assignment."""
        classic = ClassicGroup(group.group_id, now_ms)
        classic.state = State.STABLE
        classic.generation = group.group_epoch
        over: list[SetTimer | CancelTimer] = []
        for member in stay:
            classic.add(_classic_member(member), CONSUMER_PROTOCOL_TYPE)
            over += cancel_all(group.group_id, member)
            yield
        classic.protocol_name = classic.members.elected_protocol()
        yield from classic.update_subscribed_topics_in_steps()
        records = []
        regexes = group.members.subscriptions.resolved
        for tombstones in tombstones_in_steps(group.group_id, forgotten_ids, regexes):
            records += tombstones
            yield from repeat(None, len(tombstones))
        value = group_head(classic)
        for member in stay:
            one = classic.members[member.member_id]
            one.assignment = self._assignment(group, member, one, classic.protocol_name)
            value.members.append(member_metadata(classic, one, one.assignment))
            yield
        records.append((GroupMetadataKey(group=group.group_id), value))
        return _Downgraded(classic, records, over)

    def _assignment(
        self, group: ConsumerGroup, member: Member, classic: ClassicMember, protocol: str
    ) -> bytes:
        try:
            version = version_of(classic.metadata(protocol))
            return write_assignment(group.target_of(member), self._topics, version)
        except ProtocolError as error:
            raise KafkaError(
                ErrorCode.GROUP_ID_NOT_FOUND,
                f"Cannot downgrade the classic group {group.group_id}: {error}.",
            ) from error

    def _become(self, converted: _Downgraded, now_ms: int, outcome: GroupOutcome) -> ClassicGroup:
        classic = converted.group
        outcome.records += converted.records
        outcome.timers += converted.over
        outcome.timers += [classic.session_timer(one, now_ms) for one in classic.members]
        self._classic.expect(classic)
        logger.info("Consumer group %s becomes a classic group", classic.group_id)
        return classic


def _classic_member(member: Member) -> ClassicMember:
    metadata = member.classic
    assert metadata is not None, "only members of the classic protocol stay"  # noqa: S101
    return ClassicMember(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.rebalance_timeout_ms,
        metadata.session_timeout_ms,
        tuple(
            MemberProtocol(one.name, bytes(one.metadata)) for one in metadata.supported_protocols
        ),
    )
