"""One owner for each partition and epoch, whatever protocol the group speaks at the moment."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.groups.classic.group import ClassicGroup
from headrace.groups.classic.states import State
from headrace.groups.consumer.embedded_protocol import assigned_partitions, read_assignment
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.group import Group, GroupType
from tests.unit.groups.consumer.world import Topics

#: Epoch, topic id and partition.
_Place = tuple[int, bytes, int]


class Owners:
    """Remembers who had what, and how often the group changed its protocol with members in it."""

    def __init__(self) -> None:
        self.upgrades = 0
        self.downgrades = 0
        self._type: GroupType | None = None
        self._owners: dict[_Place, str] = {}

    def check(self, group: Group | None, topics: Topics) -> None:
        if group is None or group.is_empty:
            # A group that begins anew counts its epochs anew.
            self._owners.clear()
            self._type = None
            return
        if self._type not in (None, group.type):
            self.upgrades += group.type is GroupType.CONSUMER
            self.downgrades += group.type is GroupType.CLASSIC
        self._type = group.type
        for place, owner in _owned(group, topics):
            known = self._owners.setdefault(place, owner)
            assert known == owner, f"{place} is owned by {known} and {owner}"


def _owned(group: Group, topics: Topics) -> Iterator[tuple[_Place, str]]:
    if isinstance(group, ConsumerGroup):
        for member in group.members:
            if member.member_epoch < 0:
                continue  # it is away, and has what it had in whatever epoch
            for topic_id, partitions in member.assigned.items():
                for partition in partitions:
                    place = (member.member_epoch, topic_id, partition)
                    yield place, member.instance_id or member.member_id
    elif isinstance(group, ClassicGroup) and group.state is not State.COMPLETING_REBALANCE:
        for classic in group.members:
            if classic.assignment:
                given = assigned_partitions(read_assignment(classic.assignment), topics)
                for topic_id, indexes in given.items():
                    for partition in indexes:
                        place = (group.generation, topic_id, partition)
                        yield place, classic.group_instance_id or classic.member_id
