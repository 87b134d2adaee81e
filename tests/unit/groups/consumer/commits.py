"""Commits of clients that read on from where the group was, and that arrive late, or too late."""

from __future__ import annotations

import random
from collections import deque
from typing import TYPE_CHECKING

from headrace.groups.offset_reads import FetchOffsets
from headrace.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from headrace.protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tests.unit.groups.consumer.world import World

if TYPE_CHECKING:
    from tests.unit.groups.consumer.classic_clients import ClassicClient
    from tests.unit.groups.consumer.clients import Client

#: A topic's id and a partition.
Place = tuple[bytes, int]


class Reading:
    """How far a client has read what it owns, and its commits that are under way."""

    def __init__(self) -> None:
        self.positions: dict[Place, int] = {}
        self.under_way: deque[OffsetCommitRequest] = deque()

    def follow(self, world: World, owned: frozenset[Place]) -> None:
        """Let go of what is lost, and begin with what is new where the group was."""
        for lost in self.positions.keys() - owned:
            del self.positions[lost]
        new = owned - self.positions.keys()
        if new:
            # A connection keeps the order: the question comes after the commits.
            self.arrive_all(world)
        for place in sorted(new):
            self.positions[place] = _committed(world, place)

    def commit(self, world: World, chance: random.Random, client: Client | ClassicClient) -> None:
        """Send how far it has read, which may be no farther than the last time."""
        places = [one for one in sorted(self.positions) if world.topics.identified(one[0])]
        if not places:
            return
        place = chance.choice(places)
        self.positions[place] += chance.randint(0, 3)
        view = world.topics.identified(place[0])
        assert view is not None
        committed = OffsetCommitRequestPartition(
            partition_index=place[1], committed_offset=self.positions[place]
        )
        self.under_way.append(
            OffsetCommitRequest(
                group_id="g",
                generation_id_or_member_epoch=client.epoch,
                member_id=client.member_id,
                group_instance_id=client.instance_id,
                topics=[
                    OffsetCommitRequestTopic(
                        name=view.name, topic_id=view.topic_id, partitions=[committed]
                    )
                ],
            )
        )

    def arrive(self, world: World) -> None:
        if self.under_way:
            world.ask(self.under_way.popleft(), 9)

    def arrive_all(self, world: World) -> None:
        while self.under_way:
            self.arrive(world)

    def forget_topic(self, name: str) -> None:
        """Brokers refuse commits for topics that are gone before a coordinator sees them."""
        kept = [one for one in self.under_way if one.topics[0].name != name]
        self.under_way = deque(kept)


class Stored:
    """What the group has committed never goes back, and never goes away with its topic there."""

    def __init__(self) -> None:
        self._latest: dict[Place, int] = {}

    def check(self, world: World) -> None:
        found = {
            (one.topic_id, index): one.offset
            for partitions in world.coordinator.offsets.store.of_group("g").values()
            for index, one in partitions.items()
        }
        for place, before in self._latest.items():
            if world.topics.identified(place[0]) is not None:
                assert found.get(place, -1) >= before, f"{place} goes back from {before}"
        self._latest.update(found)


def _committed(world: World, place: Place) -> int:
    view = world.topics.identified(place[0])
    if view is None:
        return 0
    topic = OffsetFetchRequestTopics(
        name=view.name, topic_id=view.topic_id, partition_indexes=[place[1]]
    )
    answer = world.ask(FetchOffsets(OffsetFetchRequestGroup(group_id="g", topics=[topic]), True), 9)
    return max(int(answer.topics[0].partitions[0].committed_offset), 0)
