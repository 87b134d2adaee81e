"""ConsumerGroupDescribe: state, members and assignments of consumer groups (KIP-848)."""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.cluster_view import ClusterView
from headrace.broker.context import RequestContext
from headrace.broker.coordination.group_descriptions import GroupDescriptions
from headrace.broker.coordination.groups import Groups
from headrace.broker.handlers.consumer_group_heartbeat import require_consumer_protocol
from headrace.broker.parked import Parked
from headrace.groups.consumer.describing import DescribeConsumerGroups
from headrace.groups.description import Description
from headrace.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)


class ConsumerGroupDescribeHandler:
    """Serves API key 69."""

    def __init__(self, groups: Groups, cluster: ClusterView) -> None:
        self._groups = groups
        self._cluster = cluster

    def __call__(self, context: RequestContext, request: ConsumerGroupDescribeRequest) -> Parked:
        require_consumer_protocol(self._cluster.image)
        allowed, refused = [], []
        for group_id in request.group_ids:
            if context.allows(Operation.DESCRIBE, ResourceType.GROUP, group_id):
                allowed.append(group_id)
            else:
                error = KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
                refused.append(_refused(group_id, error))

        def answer(found: list[Description]) -> ConsumerGroupDescribeResponse:
            groups = [_visible(context, one).group for one in (*refused, *found)]
            if request.include_authorized_operations:
                for group in groups:
                    if group.error_code == ErrorCode.NONE:
                        group.authorized_operations = context.authorized_operations(
                            ResourceType.GROUP, group.group_id
                        )
            return ConsumerGroupDescribeResponse(groups=groups)

        return GroupDescriptions(
            self._groups, context, DescribeConsumerGroups, _refused, answer
        ).describe(allowed)


def _visible(context: RequestContext, described: Description) -> Description:
    """Nobody learns of topics that they may not describe, not even that a group reads them."""
    may_see = context.allows
    if all(may_see(Operation.DESCRIBE, ResourceType.TOPIC, name) for name in described.topics):
        return described
    return Description(
        DescribedGroup(
            group_id=described.group.group_id,
            error_code=int(ErrorCode.TOPIC_AUTHORIZATION_FAILED),
            error_message="The group has described topic(s) that the client is not authorized to"
            " describe.",
        )
    )


def _refused(group_id: str, error: KafkaError) -> Description:
    return Description(
        DescribedGroup(
            group_id=group_id, error_code=int(error.code), error_message=error.message or None
        )
    )
