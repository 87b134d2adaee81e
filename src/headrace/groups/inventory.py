"""What administrators ask of a coordinator: ListGroups, DescribeGroups, DeleteGroups.

Each is asked of every coordinator for the groups that it looks after, so requests and replies here
are the parts for one coordinator.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import Outcome
from headrace.groups.call import Call, GroupOutcome
from headrace.groups.classic.group import ClassicGroup
from headrace.groups.classic.member import NotedMember
from headrace.groups.classic.states import State
from headrace.groups.description import Description
from headrace.groups.group_store import GroupStore
from headrace.groups.offset_deletions import OffsetDeletions
from headrace.groups.part import Handle, Part
from headrace.protocol.messages.delete_groups import DeletableGroupResult
from headrace.protocol.messages.describe_groups import DescribedGroup

#: Since this version a group that does not exist is an error, not a dead group.
_TELLS_UNKNOWN_GROUPS = 6


class ListGroups(NamedTuple):
    """Filters in lower case, empty for all; the reply is a list of `ListedGroup`."""

    states: frozenset[str]
    types: frozenset[str]


class DescribeGroups(NamedTuple):
    """The reply is a list of `Description`, of `DescribedGroup`."""

    group_ids: list[str]


class DeleteGroups(NamedTuple):
    """The reply is a list of `DeletableGroupResult`."""

    group_ids: list[str]


class Inventory(Part):
    """Groups seen from outside."""

    def __init__(self, groups: GroupStore, deletions: OffsetDeletions) -> None:
        self._groups = groups
        self._deletions = deletions

    def requests(self) -> Mapping[type[Any], Handle]:
        return {
            ListGroups: self._list,
            DescribeGroups: self._describe,
            DeleteGroups: self._delete,
        }

    def _list(self, call: Call[ListGroups]) -> GroupOutcome:
        states, types = call.request
        return call.answer(
            [
                group.as_listed()
                for group in self._groups
                if (not types or group.type.value in types) and (not states or group.is_in(states))
            ]
        )

    def _describe(self, call: Call[DescribeGroups]) -> GroupOutcome:
        version = call.client.api_version
        return call.answer([self._described(one, version) for one in call.request.group_ids])

    def _described(self, group_id: str, version: int) -> Description:
        group = self._groups.get(group_id)
        if not isinstance(group, ClassicGroup):
            # Groups of other types have describe requests of their own.
            answer = DescribedGroup(group_id=group_id, group_state=State.DEAD.value)
            if version >= _TELLS_UNKNOWN_GROUPS:
                reason = "not found" if group is None else "is not a classic group"
                answer.error_code = int(ErrorCode.GROUP_ID_NOT_FOUND)
                answer.error_message = f"Group {group_id} {reason}."
            return Description(answer)
        protocol = group.protocol_name if group.state is State.STABLE else None
        answer = DescribedGroup(
            group_id=group_id,
            group_state=group.state_name,
            protocol_type=group.protocol_type or "",
            protocol_data=protocol or "",
        )
        # Members change, so what they are now is copied at once.
        members = [member.noted(protocol) for member in group.members]
        return Description(answer, len(members), map(NotedMember.describe, members))

    def _delete(self, call: Call[DeleteGroups]) -> GroupOutcome:
        outcome: GroupOutcome = Outcome()
        results = []
        for group_id in dict.fromkeys(call.request.group_ids):
            result = DeletableGroupResult(group_id=group_id)
            results.append(result)
            try:
                group = self._groups.require(group_id)
                group.validate_delete()
            except KafkaError as error:
                result.error_code = int(error.code)
            else:
                outcome.records += self._deletions.all_of(group_id)
                outcome.records += group.tombstones()
        outcome.replies.append((call.token, results))
        return outcome
