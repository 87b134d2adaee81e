"""The sticky assignor: as even as the subscriptions allow, and as few moves as that allows.

Members that all want the same topics get quotas that differ by one at most, and keep what they
had up to it. Otherwise everything stays where it was, what is free goes to whoever has least, and
partitions then wander from the full to the empty until no chain of moves evens things out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from headrace.client.assignors.subscriber import (
    Shares,
    Subscriber,
    sorted_partitions,
    valid_claims,
)
from headrace.client.leaders import TopicPartition


def assign_sticky(members: list[Subscriber], counts: Mapping[str, int]) -> Shares:
    """The partitions of each member, with regard to what it had."""
    if len({frozenset(member.topics) for member in members}) <= 1:
        return _assign_alike(members, counts)
    return _assign_unlike(members, counts)


def _assign_alike(members: list[Subscriber], counts: Mapping[str, int]) -> Shares:
    everything = sorted_partitions((t for m in members for t in m.topics), counts)
    claims = valid_claims(members, counts)
    low, extra = divmod(len(everything), len(members))
    # Those who have more than the lower quota already are the first to keep one more.
    fullest = sorted(claims, key=lambda member: (-len(claims[member]), member))
    quotas = {member: low + (rank < extra) for rank, member in enumerate(fullest)}
    shares = {member: claims[member][: quotas[member]] for member in claims}
    kept = {partition for share in shares.values() for partition in share}
    free = deque(partition for partition in everything if partition not in kept)
    while free:
        for member in sorted(shares):
            if free and len(shares[member]) < quotas[member]:
                shares[member].append(free.popleft())
    return shares


def _assign_unlike(members: list[Subscriber], counts: Mapping[str, int]) -> Shares:
    takers: dict[str, list[str]] = {}
    for member in sorted(members, key=lambda m: m.member_id):
        for topic in member.topics:
            takers.setdefault(topic, []).append(member.member_id)
    shares = valid_claims(members, counts)
    kept = {partition for share in shares.values() for partition in share}
    free = [p for p in sorted_partitions(takers, counts) if p not in kept]
    # What few can take goes first, while they have room.
    for partition in sorted(free, key=lambda p: (len(takers[p[0]]), p)):
        least = min(takers[partition[0]], key=lambda member: (len(shares[member]), member))
        shares[least].append(partition)
    while _even_out(shares, takers):
        pass
    return shares


def _even_out(shares: Shares, takers: Mapping[str, list[str]]) -> bool:
    """Move one partition off the fullest member that can lose one, over others if need be."""
    for giver in sorted(shares, key=lambda member: (-len(shares[member]), member)):
        path = _path_to_room(giver, shares, takers)
        if path:
            for source, partition, target in path:
                shares[source].remove(partition)
                shares[target].append(partition)
            return True
    return False


def _path_to_room(
    giver: str, shares: Shares, takers: Mapping[str, list[str]]
) -> list[tuple[str, TopicPartition, str]]:
    """The shortest chain of moves from a member to one with at least two partitions less."""
    came_from: dict[str, tuple[str, TopicPartition] | None] = {giver: None}
    queue = deque([giver])
    while queue:
        member = queue.popleft()
        last_of_topic = {partition[0]: partition for partition in shares[member]}
        for topic, partition in last_of_topic.items():
            for target in takers[topic]:
                if target in came_from:
                    continue
                came_from[target] = (member, partition)
                if len(shares[target]) <= len(shares[giver]) - 2:
                    return _trace(target, came_from)
                queue.append(target)
    return []


def _trace(
    target: str, came_from: Mapping[str, tuple[str, TopicPartition] | None]
) -> list[tuple[str, TopicPartition, str]]:
    moves = []
    while (step := came_from[target]) is not None:
        source, partition = step
        moves.append((source, partition, target))
        target = source
    return moves
