"""ListGroups: all groups whose coordinator this broker is, of one state or type if asked."""

from __future__ import annotations

from typing import Any

from headrace.base.errors import KafkaError
from headrace.broker.authorization import CLUSTER_NAME, Operation, ResourceType
from headrace.broker.context import RequestContext
from headrace.broker.coordination.groups import Groups
from headrace.broker.parked import Parked
from headrace.groups.inventory import ListGroups
from headrace.protocol.messages.list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from headrace.protocol.schema import Response


class ListGroupsHandler:
    """Serves API key 16."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    def __call__(self, context: RequestContext, request: ListGroupsRequest) -> Response | Parked:
        wanted = ListGroups(
            frozenset(name.lower() for name in request.states_filter),
            frozenset(name.lower() for name in request.types_filter),
        )
        sees_all = context.allows(Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME)

        def answer(reply: list[Any] | KafkaError) -> ListGroupsResponse:
            if isinstance(reply, KafkaError):
                return ListGroupsResponse(error_code=int(reply.code))
            groups: list[ListedGroup] = reply
            if not sees_all:
                groups = [
                    group
                    for group in groups
                    if context.allows(Operation.DESCRIBE, ResourceType.GROUP, group.group_id)
                ]
            return ListGroupsResponse(groups=groups)

        return self._groups.ask_all(context, wanted, answer)
