"""The `uniform` assignor: everybody gets as many partitions as the others, give or take one.

As few partitions as possible change hands for that. This module is for groups whose members all
read the same topics, nearly every group; `mixed` is for the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from headrace.groups.consumer.assignors.mixed import assign_mixed
from headrace.groups.consumer.assignors.spec import GroupSpec, MemberSpec, Steps, Targets, slices
from headrace.groups.consumer.member import Partitions

#: Partitions that nobody has, by topic id.
Free = dict[bytes, set[int]]


def assign_uniform(spec: GroupSpec) -> Steps[Targets]:
    return _assign_equal(spec) if spec.is_homogeneous else assign_mixed(spec)


def _assign_equal(spec: GroupSpec) -> Steps[Targets]:
    topic_ids = spec.members[0].topic_ids
    free: Free = {
        topic_id: set(range(count))
        for topic_id, count in spec.partition_counts.items()
        if topic_id in topic_ids
    }
    quota, extras = divmod(sum(map(len, free.values())), len(spec.members))
    kept: Targets = {}
    sizes: dict[str, int] = {}
    for some in slices(spec.members):
        for member in some:
            target = kept[member.member_id] = _keep(member, free)
            sizes[member.member_id] = sum(map(len, target.values()))
        yield
    # Whoever has more than the quota already keeps one of the odd partitions without a move.
    ahead = [member_id for member_id, size in sizes.items() if size > quota]
    behind = (member_id for member_id, size in sizes.items() if size <= quota)
    has_extra = set(islice(chain(ahead, behind), extras))
    for member_id in ahead:
        limit = quota + (member_id in has_extra)
        if sizes[member_id] > limit:
            kept[member_id] = _trim(kept[member_id], limit, free)
    yield
    rest = _in_order(free)
    for some in slices(spec.members):
        for member in some:
            member_id = member.member_id
            missing = quota + (member_id in has_extra) - sizes[member_id]
            if missing > 0:
                kept[member_id] = _add(kept[member_id], islice(rest, missing))
        yield
    return kept


def _keep(member: MemberSpec, free: Free) -> Partitions:
    """What the member had and may keep: topics of the group, and nothing that another has too."""
    is_same = True
    kept: dict[bytes, frozenset[int]] = {}
    for topic_id, partitions in member.target.items():
        available = free.get(topic_id)
        if available is not None and available >= partitions:
            mine = partitions
        else:
            is_same = False
            mine = partitions & available if available else frozenset()
        if mine and available is not None:
            available -= mine
            kept[topic_id] = mine
    return member.target if is_same else kept


def _trim(target: Partitions, limit: int, free: Free) -> Partitions:
    kept: dict[bytes, frozenset[int]] = {}
    for topic_id, partitions in target.items():
        if len(partitions) <= limit:
            kept[topic_id] = partitions
            limit -= len(partitions)
            continue
        mine = frozenset(sorted(partitions)[:limit])
        free[topic_id] |= partitions - mine
        if mine:
            kept[topic_id] = mine
        limit = 0
    return kept


def _add(target: Partitions, more: Iterator[tuple[bytes, int]]) -> Partitions:
    added: dict[bytes, set[int]] = {}
    for topic_id, partition in more:
        added.setdefault(topic_id, set()).add(partition)
    grown = dict(target)
    for topic_id, partitions in added.items():
        grown[topic_id] = grown.get(topic_id, frozenset()) | partitions
    return grown


def _in_order(free: Free) -> Iterator[tuple[bytes, int]]:
    for topic_id, partitions in free.items():
        for partition in sorted(partitions):
            yield topic_id, partition
