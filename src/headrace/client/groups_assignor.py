"""The range assignor: each topic's partitions in order, in runs, to its subscribers in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.client.leaders import TopicPartition


@dataclass(frozen=True, slots=True)
class Subscriber:
    """A member as the leader of its group sees it."""

    member_id: str
    instance_id: str | None
    topics: tuple[str, ...]

    def order(self) -> tuple[bool, str]:
        """Static members come first, by their own ids, so that a restart changes nothing."""
        if self.instance_id is None:
            return True, self.member_id
        return False, self.instance_id


def assign_ranges(
    subscribers: list[Subscriber], partition_counts: Mapping[str, int]
) -> dict[str, list[TopicPartition]]:
    """The partitions of each member; a topic without partitions is nobody's."""
    assignment: dict[str, list[TopicPartition]] = {s.member_id: [] for s in subscribers}
    for topic, count in sorted(partition_counts.items()):
        takers = sorted((s for s in subscribers if topic in s.topics), key=Subscriber.order)
        start = 0
        for number, taker in enumerate(takers):
            size = count // len(takers) + (number < count % len(takers))
            rows = [(topic, index) for index in range(start, start + size)]
            assignment[taker.member_id] += rows
            start += size
    return assignment
