"""Groups for tests of assignors, and what can be said about an assignment."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from headrace.groups.consumer.assignors.spec import GroupSpec, MemberSpec, Targets
from headrace.groups.consumer.member import Partitions


def topic(number: int) -> bytes:
    return number.to_bytes(16, "big")


def spec(
    counts: Mapping[int, int],
    reads: Mapping[str, list[int]],
    before: Targets | None = None,
    instances: Mapping[str, str] | None = None,
) -> GroupSpec:
    """Topics are numbers; whoever reads what decides whether the group is homogeneous."""
    members = [
        MemberSpec(
            member_id,
            (instances or {}).get(member_id),
            frozenset(topic(number) for number in numbers),
            (before or {}).get(member_id, {}),
        )
        for member_id, numbers in reads.items()
    ]
    used = sorted({number for numbers in reads.values() for number in numbers})
    is_homogeneous = len({frozenset(numbers) for numbers in reads.values()}) == 1
    return GroupSpec(members, {topic(one): counts[one] for one in used}, is_homogeneous)


def load(target: Partitions) -> int:
    return sum(map(len, target.values()))


def plain(targets: Targets) -> dict[str, dict[int, list[int]]]:
    """For comparison by eye."""
    return {
        member_id: {int.from_bytes(one, "big"): sorted(parts) for one, parts in target.items()}
        for member_id, target in targets.items()
    }


def check_complete(group: GroupSpec, targets: Targets) -> None:
    """Every partition exactly once, and only to those who read its topic."""
    assert targets.keys() == {member.member_id for member in group.members}
    seen: list[tuple[bytes, int]] = []
    for member in group.members:
        for topic_id, partitions in targets[member.member_id].items():
            assert partitions, "a topic without partitions"
            assert topic_id in member.topic_ids
            seen += [(topic_id, partition) for partition in partitions]
    wanted = [
        (topic_id, partition)
        for topic_id, count in group.partition_counts.items()
        for partition in range(count)
    ]
    assert sorted(seen) == sorted(wanted)


def kept(group: GroupSpec, targets: Targets) -> int:
    """How many partitions stay with the member that had them."""
    return sum(
        len(partitions & targets[member.member_id].get(topic_id, frozenset()))
        for member in group.members
        for topic_id, partitions in member.target.items()
    )


COUNTS = st.dictionaries(st.integers(1, 5), st.integers(1, 9), min_size=1, max_size=4)
NAMES = st.sets(st.sampled_from("abcdefgh"), min_size=1)


@st.composite
def histories(draw: st.DrawFn, *, mixed: bool) -> list[tuple[dict[int, int], dict[str, list[int]]]]:
    """A group over time: members come and go, topics grow, subscriptions change."""
    counts = draw(COUNTS)
    steps = []
    for _ in range(draw(st.integers(1, 4))):
        names = sorted(draw(NAMES))
        if mixed:
            subsets = st.lists(st.sampled_from(sorted(counts)), min_size=1, unique=True)
            reads = {name: draw(subsets) for name in names}
        else:
            same = draw(st.lists(st.sampled_from(sorted(counts)), min_size=1, unique=True))
            reads = dict.fromkeys(names, same)
        steps.append((dict(counts), reads))
        grown = draw(st.sampled_from(sorted(counts)))
        counts[grown] += draw(st.integers(0, 3))
    return steps
