"""What the assignors work on: the members of a group as its leader sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from headrace.client.leaders import TopicPartition

#: The partitions of each member.
Shares: TypeAlias = dict[str, list[TopicPartition]]

NO_GENERATION = -1


@dataclass(frozen=True, slots=True)
class Subscriber:
    """A member: what it wants, and what it says it had in which generation."""

    member_id: str
    instance_id: str | None
    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...] = ()
    generation: int = NO_GENERATION

    def order(self) -> tuple[bool, str]:
        """Static members come first, by their own ids, so that a restart changes nothing."""
        if self.instance_id is None:
            return True, self.member_id
        return False, self.instance_id


def sorted_partitions(topics: Iterable[str], counts: Mapping[str, int]) -> list[TopicPartition]:
    """All partitions of these topics, by name and number; a topic without any is left out."""
    return [(topic, i) for topic in sorted(set(topics)) for i in range(counts.get(topic, 0))]


def valid_claims(members: list[Subscriber], counts: Mapping[str, int]) -> Shares:
    """What each member had and may keep.

    A partition belongs to whoever had it in the latest generation. Two members of one generation
    cannot both have had it: then nobody did.
    """
    best: dict[TopicPartition, tuple[int, str | None]] = {}
    for member in members:
        for partition in member.owned:
            topic, index = partition
            if topic not in member.topics or index >= counts.get(topic, 0):
                continue
            generation, holder = best.get(partition, (NO_GENERATION - 1, None))
            if member.generation > generation:
                best[partition] = (member.generation, member.member_id)
            elif member.generation == generation and holder != member.member_id:
                best[partition] = (generation, None)
    claims: Shares = {member.member_id: [] for member in members}
    for partition, (_, holder) in sorted(best.items()):
        if holder is not None:
            claims[holder].append(partition)
    return claims
