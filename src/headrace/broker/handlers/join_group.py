"""JoinGroup: a member of a classic group wants to be in its next generation."""

from __future__ import annotations

from typing import Any

from headrace.base.errors import KafkaError
from headrace.broker.authorization import Operation
from headrace.broker.context import RequestContext
from headrace.broker.coordination.groups import Groups, require_group
from headrace.broker.parked import Parked
from headrace.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from headrace.protocol.schema import Response

_HAS_REBALANCE_TIMEOUT = 1
_NULL_PROTOCOL_NAME = 7


class JoinGroupHandler:
    """Serves API key 11."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    def __call__(self, context: RequestContext, request: JoinGroupRequest) -> Response | Parked:
        if context.api_version < _HAS_REBALANCE_TIMEOUT:
            request.rebalance_timeout_ms = request.session_timeout_ms

        def answer(reply: Any) -> JoinGroupResponse:
            if isinstance(reply, KafkaError):
                reply = JoinGroupResponse(member_id=request.member_id, error_code=int(reply.code))
            response: JoinGroupResponse = reply
            if response.protocol_name is None and context.api_version < _NULL_PROTOCOL_NAME:
                response.protocol_name = ""
            return response

        try:
            require_group(context, Operation.READ, request.group_id)
        except KafkaError as error:
            return answer(error)
        return self._groups.ask(context, request.group_id, request, answer)
