"""The round-robin assignor: all partitions dealt out like cards, to those who want the topic."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.client.assignors.subscriber import Shares, Subscriber, sorted_partitions


def assign_round_robin(members: list[Subscriber], counts: Mapping[str, int]) -> Shares:
    """The next partition goes to the next member round the table that subscribes to its topic."""
    shares: Shares = {member.member_id: [] for member in members}
    table = sorted(members, key=Subscriber.order)
    turn = 0
    for partition in sorted_partitions((t for m in members for t in m.topics), counts):
        while partition[0] not in table[turn].topics:
            turn = (turn + 1) % len(table)
        shares[table[turn].member_id].append(partition)
        turn = (turn + 1) % len(table)
    return shares
