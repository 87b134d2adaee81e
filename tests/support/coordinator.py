"""Waiting for the coordinator of the groups, which the first question for it brings into being."""

from headrace.base.errors import ErrorCode
from headrace.protocol.messages.find_coordinator import FindCoordinatorRequest
from headrace.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.support.node import Node
from tests.support.raw_call import calls_to
from tests.support.readiness import eventually


def wait_for_coordinator(node: Node, group: str = "any") -> None:
    """Until it is there and has read its log."""
    find = FindCoordinatorRequest(coordinator_keys=[group])
    fetch = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])

    def is_loaded() -> bool:
        if call(find, None).coordinators[0].error_code:
            return False
        return ErrorCode(call(fetch, 9).groups[0].error_code) is ErrorCode.NONE

    with calls_to(node) as call:
        eventually(is_loaded)
