"""ConsumerGroupDescribe: a group and its members, as administrators see them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from headrace.base.errors import ErrorCode, KafkaError
from headrace.groups.call import Call, GroupOutcome
from headrace.groups.consumer.config import ConsumerGroupConfig
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.consumer.lookup import require_consumer_group
from headrace.groups.consumer.member import Member
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


class DescribeConsumerGroups(NamedTuple):
    """The part of a request for one coordinator; the reply is a list of `DescribedGroup`."""

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

    def _described(self, group_id: str) -> DescribedGroup:
        try:
            group = require_consumer_group(self._groups, group_id)
        except KafkaError as error:
            return DescribedGroup(
                group_id=group_id, error_code=int(error.code), error_message=error.message
            )
        return DescribedGroup(
            group_id=group_id,
            group_state=group.state_name,
            group_epoch=group.group_epoch,
            assignment_epoch=group.assignment_epoch,
            assignor_name=group.members.preferred_assignor() or self._config.assignors[0],
            members=[self._member(group, member) for member in group.members],
        )

    def _member(self, group: ConsumerGroup, member: Member) -> DescribedMember:
        return DescribedMember(
            member_id=member.member_id,
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            member_epoch=member.member_epoch,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=sorted(member.subscribed_topic_names),
            subscribed_topic_regex=member.subscribed_topic_regex,
            # What it still has to give up, it still has.
            assignment=self._assignment(member.assigned, member.pending_revocation),
            target_assignment=self._assignment(group.targets.get(member.member_id, {})),
            member_type=_CLASSIC_MEMBER if member.uses_classic_protocol else _CONSUMER_MEMBER,
        )

    def _assignment(self, *parts: Mapping[bytes, Iterable[int]]) -> Assignment:
        partitions: dict[bytes, set[int]] = {}
        for part in parts:
            for topic_id, some in part.items():
                partitions.setdefault(topic_id, set()).update(some)
        described = []
        for topic_id, some in partitions.items():
            view = self._topics.identified(topic_id)
            if view is not None:
                described.append(
                    TopicPartitions(
                        topic_id=topic_id, topic_name=view.name, partitions=sorted(some)
                    )
                )
        return Assignment(topic_partitions=described)
