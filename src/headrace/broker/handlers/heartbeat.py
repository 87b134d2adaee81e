"""Heartbeat: a member of a classic group shows that it lives."""

from __future__ import annotations

from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation
from headrace.broker.context import RequestContext
from headrace.broker.coordination.groups import Groups, require_group
from headrace.broker.parked import Parked
from headrace.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from headrace.protocol.schema import Response


class HeartbeatHandler:
    """Serves API key 12."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    def __call__(self, context: RequestContext, request: HeartbeatRequest) -> Response | Parked:
        require_group(context, Operation.READ, request.group_id)
        return self._groups.ask(context, request.group_id, request, _answer)


def _answer(reply: Any) -> HeartbeatResponse:
    if not isinstance(reply, KafkaError):
        response: HeartbeatResponse = reply
        return response
    if reply.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        # Nobody loses a session while the log is read; an error would only make clients rejoin.
        return HeartbeatResponse()
    return HeartbeatResponse(error_code=int(reply.code))
