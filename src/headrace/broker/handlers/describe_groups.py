"""DescribeGroups: state, members and assignments of classic groups."""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.context import RequestContext
from headrace.broker.coordination.group_descriptions import GroupDescriptions
from headrace.broker.coordination.groups import Groups
from headrace.broker.parked import Parked
from headrace.groups.description import Description
from headrace.groups.inventory import DescribeGroups
from headrace.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)


class DescribeGroupsHandler:
    """Serves API key 15."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    def __call__(self, context: RequestContext, request: DescribeGroupsRequest) -> Parked:
        allowed, refused = [], []
        for group_id in request.groups:
            if context.allows(Operation.DESCRIBE, ResourceType.GROUP, group_id):
                allowed.append(group_id)
            else:
                error = KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
                refused.append(_refused(group_id, error))

        def answer(found: list[Description]) -> DescribeGroupsResponse:
            groups = [description.group for description in (*refused, *found)]
            if request.include_authorized_operations:
                for group in groups:
                    if group.error_code == ErrorCode.NONE:
                        group.authorized_operations = context.authorized_operations(
                            ResourceType.GROUP, group.group_id
                        )
            return DescribeGroupsResponse(groups=groups)

        return GroupDescriptions(self._groups, context, DescribeGroups, _refused, answer).describe(
            allowed
        )


def _refused(group_id: str, error: KafkaError) -> Description:
    return Description(
        DescribedGroup(
            group_id=group_id, error_code=int(error.code), error_message=error.message or None
        )
    )
