"""ConsumerGroupDescribe: a group and its members, as administrators see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from headrace.base.errors import ErrorCode, KafkaError
from headrace.groups.call import Call, GroupOutcome
from headrace.groups.consumer.config import ConsumerGroupConfig
from headrace.groups.consumer.lookup import require_consumer_group
from headrace.groups.consumer.member import Member, Partitions
from headrace.groups.description import Description
from headrace.groups.group_store import GroupStore
from headrace.groups.topics import Topics
from headrace.protocol.messages.consumer_group_describe import (
    Assignment,
    DescribedGroup,
    TopicPartitions,
)
from headrace.protocol.messages.consumer_group_describe import Member as DescribedMember

_CLASSIC_MEMBER = 0
_CONSUMER_MEMBER = 1
_NO_TARGET: Partitions = {}

#: The names of topics by their ids.
TopicNames = Mapping[bytes, str]


class DescribeConsumerGroups(NamedTuple):
    """The part of a request for one coordinator.

    The reply is a list of `Description`, of `DescribedGroup`.
    """

    group_ids: list[str]


class Describing:
    """Looks at groups, changes nothing."""

    def __init__(self, config: ConsumerGroupConfig, groups: GroupStore, topics: Topics) -> None:
        self._config = config
        self._groups = groups
        self._topics = topics

    def describe(self, call: Call[DescribeConsumerGroups]) -> GroupOutcome:
        if not self._config.is_offered:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        return call.answer([self._described(group_id) for group_id in call.request.group_ids])

    def _described(self, group_id: str) -> Description:
        try:
            if not group_id:
                # Offsets may be kept under it, but no members.
                raise KafkaError(ErrorCode.INVALID_GROUP_ID)
            group = require_consumer_group(self._groups, group_id)
        except KafkaError as error:
            return Description(
                DescribedGroup(
                    group_id=group_id,
                    error_code=int(error.code),
                    error_message=error.message or None,
                )
            )
        described = DescribedGroup(
            group_id=group_id,
            group_state=group.state_name,
            group_epoch=group.group_epoch,
            assignment_epoch=group.assignment_epoch,
            assignor_name=group.members.preferred_assignor() or self._config.assignors[0],
        )
        # Neither members nor targets are ever changed, only replaced.
        members = list(group.members)
        targets = [group.targets.get(member.member_id, _NO_TARGET) for member in members]
        names = self._names(members, targets)
        return Description(
            described,
            len(members),
            _members(members, targets, names),
            frozenset(names.values()),
        )

    def _names(self, members: Sequence[Member], targets: Sequence[Partitions]) -> TopicNames:
        """Of all topics that are assigned to a member, as far as they exist."""
        topic_ids: set[bytes] = set()
        topic_ids.update(*targets)
        topic_ids.update(*[member.assigned for member in members])
        topic_ids.update(*[member.pending_revocation for member in members])
        views = {topic_id: self._topics.identified(topic_id) for topic_id in topic_ids}
        return {topic_id: view.name for topic_id, view in views.items() if view is not None}


def _members(
    members: Sequence[Member], targets: Sequence[Partitions], names: TopicNames
) -> Iterator[DescribedMember]:
    for member, target in zip(members, targets, strict=True):
        yield DescribedMember(
            member_id=member.member_id,
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            member_epoch=member.member_epoch,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=sorted(member.subscribed_topic_names),
            subscribed_topic_regex=member.subscribed_topic_regex,
            # What it still has to give up, it still has.
            assignment=_assignment(names, member.assigned, member.pending_revocation),
            target_assignment=_assignment(names, target),
            member_type=_CLASSIC_MEMBER if member.uses_classic_protocol else _CONSUMER_MEMBER,
        )


def _assignment(names: TopicNames, *parts: Mapping[bytes, Iterable[int]]) -> Assignment:
    partitions: dict[bytes, set[int]] = {}
    for part in parts:
        for topic_id, some in part.items():
            partitions.setdefault(topic_id, set()).update(some)
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, topic_name=names[topic_id], partitions=sorted(some))
            for topic_id, some in partitions.items()
            if topic_id in names
        ]
    )
