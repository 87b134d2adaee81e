"""SyncGroup: members of a classic group get their assignment, which the leader brings."""

from __future__ import annotations

from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation
from headrace.broker.context import RequestContext
from headrace.broker.coordination.groups import Groups, require_group
from headrace.broker.parked import Parked
from headrace.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from headrace.protocol.schema import Response

#: Since this version a member says which protocol it believes was chosen (KIP-559).
_SAYS_PROTOCOL = 5


class SyncGroupHandler:
    """Serves API key 14."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    def __call__(self, context: RequestContext, request: SyncGroupRequest) -> Response | Parked:
        if context.api_version >= _SAYS_PROTOCOL and None in (
            request.protocol_type,
            request.protocol_name,
        ):
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        require_group(context, Operation.READ, request.group_id)
        return self._groups.ask(context, request.group_id, request, _answer)


def _answer(reply: Any) -> SyncGroupResponse:
    if isinstance(reply, KafkaError):
        return SyncGroupResponse(error_code=int(reply.code))
    response: SyncGroupResponse = reply
    return response
