"""The last member of the new protocol goes, and the others still speak the classic one.

Then the group becomes a classic group again: members keep what they were meant to have, and a
rebalance gives them the rest.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from headrace.base.errors import ErrorCode, KafkaError
from headrace.groups.call import GroupOutcome
from headrace.groups.classic.classic_groups import ClassicGroups
from headrace.groups.classic.group import ClassicGroup
from headrace.groups.classic.group_record import group_record
from headrace.groups.classic.member import ClassicMember, MemberProtocol
from headrace.groups.classic.states import State
from headrace.groups.consumer.config import ConsumerGroupConfig
from headrace.groups.consumer.embedded_protocol import version_of, write_assignment
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.consumer.group_records import group_tombstones
from headrace.groups.consumer.member import Member
from headrace.groups.consumer.timers import cancel_all
from headrace.groups.group import CONSUMER_PROTOCOL_TYPE
from headrace.groups.topics import Topics
from headrace.protocol.errors import ProtocolError

logger = logging.getLogger(__name__)


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

    def when_gone(
        self, group: ConsumerGroup, gone: Sequence[Member], now_ms: int, outcome: GroupOutcome
    ) -> bool:
        """Members leave; True if that makes the group a classic one."""
        count = len(group.members) - len(gone)
        if not count or not self._is_due(group, gone, count):
            return False
        outcome.records += group.tombstones()
        gone_ids = {member.member_id for member in gone}
        stay = [member for member in group.members if member.member_id not in gone_ids]
        classic = self._convert(group, stay, now_ms, outcome)
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
        regexes = group.members.subscriptions.resolved
        member_ids = [one.member_id for one in stay]
        outcome.records += group_tombstones(group.group_id, member_ids, regexes)
        classic = self._convert(group, stay, now_ms, outcome)
        if must_rebalance:
            reason = "the group is classic again, with an old assignment"
            self._classic.rebalance.prepare(classic, reason, now_ms, outcome)

    def _is_due(self, group: ConsumerGroup, gone: Sequence[Member], count: int) -> bool:
        return (
            group.has_all_classic_but(list(gone))
            and self._config.migration_policy.allows_downgrade
            and count <= self._classic_members_max
        )

    def _convert(
        self, group: ConsumerGroup, stay: Sequence[Member], now_ms: int, outcome: GroupOutcome
    ) -> ClassicGroup:
        """The epoch becomes the generation, the target becomes the assignment."""
        classic = ClassicGroup(group.group_id, now_ms)
        classic.state = State.STABLE
        classic.generation = group.group_epoch
        for member in stay:
            classic.add(_classic_member(member), CONSUMER_PROTOCOL_TYPE)
            outcome.timers += cancel_all(group.group_id, member)
        classic.protocol_name = classic.members.elected_protocol()
        classic.update_subscribed_topics()
        self._assign(group, classic, stay)
        assignments = {one.member_id: one.assignment for one in classic.members}
        outcome.records.append(group_record(classic, assignments))
        outcome.timers += [classic.session_timer(one, now_ms) for one in classic.members]
        self._classic.expect(classic)
        logger.info("Consumer group %s becomes a classic group", group.group_id)
        return classic

    def _assign(self, group: ConsumerGroup, classic: ClassicGroup, stay: Sequence[Member]) -> None:
        try:
            for member in stay:
                one = classic.members[member.member_id]
                version = version_of(one.metadata(classic.protocol_name or ""))
                one.assignment = write_assignment(group.target_of(member), self._topics, version)
        except ProtocolError as error:
            raise KafkaError(
                ErrorCode.GROUP_ID_NOT_FOUND,
                f"Cannot downgrade the classic group {group.group_id}: {error}.",
            ) from error


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
