"""The range assignor: each topic's partitions in order, in runs, to its subscribers in order."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.client.assignors.subscriber import Shares, Subscriber


def assign_ranges(members: list[Subscriber], counts: Mapping[str, int]) -> Shares:
    """The partitions of each member; a topic without subscribers is nobody's."""
    shares: Shares = {member.member_id: [] for member in members}
    for topic, count in sorted(counts.items()):
        takers = sorted((m for m in members if topic in m.topics), key=Subscriber.order)
        start = 0
        for number, taker in enumerate(takers):
            size = count // len(takers) + (number < count % len(takers))
            shares[taker.member_id] += [(topic, index) for index in range(start, start + size)]
            start += size
    return shares
