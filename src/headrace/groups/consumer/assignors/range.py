"""The `range` assignor: of every topic, each member gets one run of neighbouring partitions.

Members come in a fixed order, static ones first, so topics with as many partitions are cut in the
same places: whoever has partition 3 of one has partition 3 of the other, which is what joins of two
topics need. What members had before plays no part.
"""

from __future__ import annotations

from headrace.groups.consumer.assignors.spec import (
    STEP,
    GroupSpec,
    MemberSpec,
    Steps,
    Targets,
    slices,
)


def assign_range(spec: GroupSpec) -> Steps[Targets]:
    in_order = sorted(spec.members, key=_order)
    assigned: dict[str, dict[bytes, frozenset[int]]] = {member.member_id: {} for member in in_order}
    readers_of = yield from _readers(spec, in_order)
    cuts = 0
    for topic_id, readers in readers_of.items():
        size, odd = divmod(spec.partition_counts[topic_id], len(readers))
        start = 0
        for index, member in enumerate(readers):
            end = start + size + (index < odd)
            if start == end:
                break  # more readers than partitions
            assigned[member.member_id][topic_id] = frozenset(range(start, end))
            start = end
            cuts += 1
            if cuts % STEP == 0:
                yield
    return dict(assigned)


def _readers(spec: GroupSpec, in_order: list[MemberSpec]) -> Steps[dict[bytes, list[MemberSpec]]]:
    if spec.is_homogeneous:
        topic_ids = in_order[0].topic_ids
        return {one: in_order for one in spec.partition_counts if one in topic_ids}
    readers: dict[bytes, list[MemberSpec]] = {one: [] for one in spec.partition_counts}
    for some in slices(in_order):
        for member in some:
            for topic_id in member.topic_ids:
                readers[topic_id].append(member)
        yield
    return readers


def _order(member: MemberSpec) -> tuple[bool, str, str]:
    if member.instance_id is None:
        return True, member.member_id, ""
    return False, member.instance_id, member.member_id
