"""The cooperative sticky assignor (KIP-429): the sticky one, in two steps where partitions move.

Nobody gives anything up before a rebalance, so a partition that somebody still holds is left out
of the first assignment; its holder sees that it is to go, gives it up and joins again, and the
second assignment has it.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.client.assignors.sticky import assign_sticky
from headrace.client.assignors.subscriber import Shares, Subscriber, valid_claims


def assign_cooperatively(members: list[Subscriber], counts: Mapping[str, int]) -> Shares:
    """The sticky assignment without the partitions that others must give up first."""
    shares = assign_sticky(members, counts)
    claimed = valid_claims(members, counts)
    # A member that missed a generation may still read what it had: wait for it as well.
    holders = {partition: m.member_id for m in members for partition in m.owned}
    holders |= {p: member for member, share in claimed.items() for p in share}
    return {
        member: [p for p in share if holders.get(p, member) == member]
        for member, share in shares.items()
    }
