"""Groups and transactions of an embedded node, as a test wants to know them."""

from __future__ import annotations

import time

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.blocking import KafkaClient
from headrace.client.errors import raise_for_code
from headrace.client.groups import delete_groups, list_groups
from headrace.client.groups_describe import GroupDescription, describe_groups
from headrace.client.groups_offsets import committed_offsets
from headrace.client.leaders import TopicPartition
from headrace.client.offsets import LATEST, list_offsets, require_offsets
from headrace.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)

_LOOK_SECONDS = 0.02
#: A group with members stays, and one that went with its last offset is gone already.
_LEFT_ALONE = (ErrorCode.NON_EMPTY_GROUP, ErrorCode.GROUP_ID_NOT_FOUND)


def group_ids(client: KafkaClient) -> set[str]:
    """All groups that there are."""
    return {row.group_id for row in list_groups(client)}


def delete_empty_groups(client: KafkaClient, groups: set[str]) -> None:
    """Delete those that have no members."""
    for error in delete_groups(client, sorted(groups)).values():
        if error is not None and error.code not in _LEFT_ALONE:
            raise error


def committed(client: KafkaClient, group: str) -> dict[TopicPartition, int]:
    """The committed offset of each partition."""
    try:
        found = committed_offsets(client, group)
    except KafkaError as error:
        if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
            raise
        return {}
    return {partition: row.offset for partition, row in found.items() if row.offset >= 0}


def lag(client: KafkaClient, group: str) -> dict[TopicPartition, int]:
    """How many offsets each partition that the group has committed for is ahead of it."""
    offsets = committed(client, group)
    ends = require_offsets(list_offsets(client, dict.fromkeys(offsets, LATEST)))
    return {partition: ends[partition] - offset for partition, offset in offsets.items()}


def wait_for_group(
    client: KafkaClient, group: str, members: int, timeout_s: float
) -> GroupDescription:
    """Wait until a group is at rest with so many members."""
    deadline = time.monotonic() + timeout_s
    while True:
        found = describe_groups(client, [group])[group]
        if isinstance(found, GroupDescription):
            at_rest = found.state == ("Stable" if members else "Empty")
            if at_rest and len(found.members) == members:
                return found
            seen = f"{found.state} with {len(found.members)} members"
        elif found.code is not ErrorCode.GROUP_ID_NOT_FOUND:
            raise found
        else:
            seen = "not there"
        if time.monotonic() >= deadline:
            raise TimeoutError(f"Group {group} is {seen} after {timeout_s:g} s, not {members}.")
        time.sleep(_LOOK_SECONDS)


def transactions(client: KafkaClient) -> dict[str, str]:
    """The state of every transactional id: Empty, Ongoing, CompleteCommit, CompleteAbort, ..."""
    answer = client.any_node().call(ListTransactionsRequest(), ListTransactionsResponse)
    raise_for_code(answer.error_code)
    return {row.transactional_id: row.transaction_state for row in answer.transaction_states}
