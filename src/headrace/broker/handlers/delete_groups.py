"""DeleteGroups: deletes groups without members, and their offsets."""

from __future__ import annotations

from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.context import RequestContext
from headrace.broker.coordination.groups import Groups
from headrace.broker.parked import Parked
from headrace.groups.inventory import DeleteGroups
from headrace.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)


class DeleteGroupsHandler:
    """Serves API key 42."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    def __call__(self, context: RequestContext, request: DeleteGroupsRequest) -> Parked:
        allowed, refused = [], []
        for group_id in dict.fromkeys(request.groups_names):
            if context.allows(Operation.DELETE, ResourceType.GROUP, group_id):
                allowed.append(group_id)
            else:
                error = KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
                refused.append(_refused(group_id, error))

        def answer(found: list[Any]) -> DeleteGroupsResponse:
            return DeleteGroupsResponse(results=[*refused, *found])

        return self._groups.ask_each(context, allowed, DeleteGroups, _refused, answer)


def _refused(group_id: str, error: KafkaError) -> DeletableGroupResult:
    return DeletableGroupResult(group_id=group_id, error_code=int(error.code))
