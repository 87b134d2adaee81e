"""Requests about groups: who coordinates them, which there are, and deleting them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.blocking import RETRIED, KafkaClient
from headrace.client.connection import BlockingConnection
from headrace.client.errors import error_for_code, raise_for_code
from headrace.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from headrace.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from headrace.protocol.messages.list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)

T = TypeVar("T")

#: FindCoordinator's key types.
GROUP, TRANSACTION = 0, 1

_BATCHED = 4


def find_coordinators(
    client: KafkaClient, keys: Sequence[str], key_type: int = GROUP
) -> dict[str, int]:
    """The node that coordinates each group or transactional id."""

    def attempt() -> dict[str, int]:
        node = client.any_node()
        if node.versions.pick(FindCoordinatorRequest) < _BATCHED:
            return {key: _find_one(node, key, key_type) for key in keys}
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=list(keys))
        answer = node.call(request, FindCoordinatorResponse)
        for row in answer.coordinators:
            raise_for_code(row.error_code, row.error_message)
        return {row.key: row.node_id for row in answer.coordinators}

    return client.retry(attempt) if keys else {}


def _find_one(node: BlockingConnection, key: str, key_type: int) -> int:
    answer = node.call(FindCoordinatorRequest(key=key, key_type=key_type), FindCoordinatorResponse)
    raise_for_code(answer.error_code, answer.error_message)
    return answer.node_id


def ask_coordinator(
    client: KafkaClient,
    key: str,
    ask: Callable[[BlockingConnection], T],
    *,
    key_type: int = GROUP,
) -> T:
    """Let `ask` talk to the coordinator of a key; again when it moved or is still loading."""

    def attempt() -> T:
        return ask(client.node(find_coordinators(client, [key], key_type)[key]))

    return client.retry(attempt)


def ask_coordinators(
    client: KafkaClient,
    keys: Sequence[str],
    ask: Callable[[BlockingConnection, list[str]], dict[str, T | KafkaError]],
    *,
    key_type: int = GROUP,
) -> dict[str, T | KafkaError]:
    """Likewise for many keys: `ask` gets those of one coordinator at a time.

    An error that asking again does not mend is the answer for its key.
    """

    def attempt() -> dict[str, T | KafkaError]:
        by_node: dict[int, list[str]] = {}
        for key, node_id in find_coordinators(client, keys, key_type).items():
            by_node.setdefault(node_id, []).append(key)
        found: dict[str, T | KafkaError] = {}
        for node_id, theirs in by_node.items():
            found |= ask(client.node(node_id), theirs)
        for outcome in found.values():
            if isinstance(outcome, KafkaError) and outcome.code in RETRIED:
                raise outcome
        return found

    return client.retry(attempt)


def list_groups(
    client: KafkaClient, *, states: Iterable[str] = (), types: Iterable[str] = ()
) -> list[ListedGroup]:
    """The groups of all brokers; the filters are the brokers' work."""
    request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))
    low = 5 if request.types_filter else 4 if request.states_filter else 0

    def ask(node: BlockingConnection) -> list[ListedGroup]:
        version = node.versions.pick(ListGroupsRequest, low)
        answer = node.call(request, ListGroupsResponse, version=version)
        raise_for_code(answer.error_code)
        return answer.groups

    def attempt() -> list[ListedGroup]:
        groups = {}
        for node_id in sorted(client.refresh().nodes):
            groups.update({row.group_id: row for row in ask(client.node(node_id))})
        return list(groups.values())

    return client.retry(attempt)


def delete_groups(client: KafkaClient, groups: Sequence[str]) -> dict[str, KafkaError | None]:
    """Delete groups; what went wrong with each, None if nothing did."""

    def ask(node: BlockingConnection, theirs: list[str]) -> dict[str, KafkaError | None]:
        answer = node.call(DeleteGroupsRequest(groups_names=theirs), DeleteGroupsResponse)
        return {
            row.group_id: error_for_code(row.error_code) if row.error_code else None
            for row in answer.results
        }

    found = ask_coordinators(client, groups, ask)
    gone = ErrorCode.GROUP_ID_NOT_FOUND
    return {group: found.get(group, error_for_code(gone)) for group in groups}
