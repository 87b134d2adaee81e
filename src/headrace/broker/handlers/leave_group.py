"""LeaveGroup: members leave a classic group, one or, since version 3, several at once (KIP-345)."""

from __future__ import annotations

from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation
from headrace.broker.context import RequestContext
from headrace.broker.coordination.groups import Groups, require_group
from headrace.broker.parked import Parked
from headrace.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from headrace.protocol.schema import Response

_BATCHED_SINCE = 3


class LeaveGroupHandler:
    """Serves API key 13."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    def __call__(self, context: RequestContext, request: LeaveGroupRequest) -> Response | Parked:
        require_group(context, Operation.READ, request.group_id)
        is_batched = context.api_version >= _BATCHED_SINCE
        if not is_batched:
            request.members = [MemberIdentity(member_id=request.member_id)]

        def answer(reply: Any) -> LeaveGroupResponse:
            if isinstance(reply, KafkaError):
                return LeaveGroupResponse(error_code=int(reply.code))
            response: LeaveGroupResponse = reply
            if not is_batched and response.error_code == ErrorCode.NONE and response.members:
                return LeaveGroupResponse(error_code=response.members[0].error_code)
            return response

        return self._groups.ask(context, request.group_id, request, answer)
