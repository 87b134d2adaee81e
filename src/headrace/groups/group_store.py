"""The groups of one coordinator by their ids; all its parts look here."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.base.errors import ErrorCode, KafkaError
from headrace.groups.activity import Activity
from headrace.groups.group import Group


class GroupStore:
    """Filled by applied records, and by the first join of a group that no record knows yet."""

    __slots__ = ("_groups", "activity")

    def __init__(self) -> None:
        self._groups: dict[str, Group] = {}
        #: What all parts of the coordinator count.
        self.activity = Activity()

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups.values())

    def __len__(self) -> int:
        return len(self._groups)

    def get(self, group_id: str) -> Group | None:
        return self._groups.get(group_id)

    def require(self, group_id: str) -> Group:
        group = self._groups.get(group_id)
        if group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return group

    def put(self, group: Group) -> None:
        """A new group, or another kind of group under the same id (online migration)."""
        self._groups[group.group_id] = group

    def remove(self, group_id: str) -> None:
        self._groups.pop(group_id, None)
