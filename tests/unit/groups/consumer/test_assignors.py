"""The assignors `uniform` and `range`: complete, balanced, and no more moves than needed."""

from hypothesis import given, settings

from headrace.groups.consumer.assignors.catalog import ASSIGNORS
from headrace.groups.consumer.assignors.spec import GroupSpec, MemberSpec, Targets, finish
from tests.unit.groups.consumer.assigning import (
    check_complete,
    histories,
    kept,
    load,
    plain,
    spec,
    topic,
)


def assign_uniform(group: GroupSpec) -> Targets:
    return finish(ASSIGNORS["uniform"](group))


def assign_range(group: GroupSpec) -> Targets:
    return finish(ASSIGNORS["range"](group))


History = list[tuple[dict[int, int], dict[str, list[int]]]]


@settings(deadline=None, max_examples=60)
@given(histories(mixed=False))
def test_uniform_gives_everybody_the_same_and_moves_as_little_as_possible(steps: History) -> None:
    before: Targets = {}
    for counts, reads in steps:
        group = spec(counts, reads, before)
        targets = assign_uniform(group)
        check_complete(group, targets)
        loads = [load(target) for target in targets.values()]
        assert max(loads) - min(loads) <= 1
        assert kept(group, targets) == most_that_can_stay(group)
        before = targets


def most_that_can_stay(group: GroupSpec) -> int:
    quota, extras = divmod(sum(group.partition_counts.values()), len(group.members))
    had = [
        sum(
            len(partitions)
            for topic_id, partitions in member.target.items()
            if topic_id in member.topic_ids
        )
        for member in group.members
    ]
    ahead = sum(one > quota for one in had)
    return sum(min(one, quota) for one in had) + min(extras, ahead)


@settings(deadline=None, max_examples=60)
@given(histories(mixed=True))
def test_uniform_balances_the_readers_of_each_topic_in_mixed_groups(steps: History) -> None:
    before: Targets = {}
    for counts, reads in steps:
        group = spec(counts, reads, before)
        targets = assign_uniform(group)
        check_complete(group, targets)
        for topic_id in group.partition_counts:
            readers = [one.member_id for one in group.members if topic_id in one.topic_ids]
            owners = [one for one in readers if topic_id in targets[one]]
            most = max(load(targets[one]) for one in owners)
            assert most - min(load(targets[one]) for one in readers) <= 1
        again = assign_uniform(spec(counts, reads, targets))
        assert again == targets, "a balanced assignment stays as it is"
        before = targets


@settings(deadline=None, max_examples=60)
@given(histories(mixed=True))
def test_range_cuts_each_topic_into_runs_for_its_readers(steps: History) -> None:
    before: Targets = {}
    for counts, reads in steps:
        group = spec(counts, reads, before)
        targets = assign_range(group)
        check_complete(group, targets)
        assert targets == assign_range(spec(counts, reads)), "the past plays no part"
        for topic_id in group.partition_counts:
            runs = [
                sorted(targets[one.member_id].get(topic_id, ()))
                for one in sorted(group.members, key=lambda one: one.member_id)
                if topic_id in one.topic_ids
            ]
            assert [one for run in runs for one in run] == list(
                range(group.partition_counts[topic_id])
            )
            assert [len(run) for run in runs] == sorted(map(len, runs), reverse=True)
            assert len(runs[0]) - len(runs[-1]) <= 1
        before = targets


def test_range_gives_static_members_the_first_places() -> None:
    reads = {"b": [1], "a": [1], "z": [1]}
    targets = assign_range(spec({1: 3}, reads, instances={"z": "first"}))
    assert plain(targets) == {"z": {1: [0]}, "a": {1: [1]}, "b": {1: [2]}}


def test_range_cuts_topics_of_the_same_size_in_the_same_places() -> None:
    targets = assign_range(spec({1: 5, 2: 5}, {"a": [1, 2], "b": [1, 2]}))
    for target in targets.values():
        assert target[topic(1)] == target[topic(2)]


def test_uniform_leaves_a_member_that_keeps_everything_untouched() -> None:
    reads = {"a": [1], "b": [1]}
    first = assign_uniform(spec({1: 4}, reads))
    group = spec({1: 4}, reads, first)
    again = assign_uniform(group)
    assert all(again[member.member_id] is member.target for member in group.members)


def test_uniform_gives_a_newcomer_its_share_from_those_who_have_most() -> None:
    first = assign_uniform(spec({1: 9}, {"a": [1], "b": [1]}))
    targets = assign_uniform(spec({1: 9}, {"a": [1], "b": [1], "c": [1]}, first))
    assert sorted(load(target) for target in targets.values()) == [3, 3, 3]
    assert targets["a"][topic(1)] < first["a"][topic(1)]
    assert targets["b"][topic(1)] < first["b"][topic(1)]


def test_a_partition_that_two_members_were_promised_goes_to_one() -> None:
    # A target that was only written in part before a crash can look like this.
    promised: Targets = {"a": {topic(1): frozenset({0, 1})}, "b": {topic(1): frozenset({1, 2})}}
    for reads in ({"a": [1], "b": [1]}, {"a": [1], "b": [1, 2]}):
        group = spec({1: 3, 2: 1}, reads, promised)
        check_complete(group, assign_uniform(group))


def test_members_without_existing_topics_get_nothing() -> None:
    for assign in (assign_uniform, assign_range):
        assert assign(spec({}, {"a": [], "b": []})) == {"a": {}, "b": {}}
        assert plain(assign(spec({1: 1}, {"a": [], "b": [1]}))) == {"a": {}, "b": {1: [0]}}


def test_a_group_of_ten_thousand_members_is_assigned_in_about_linear_time() -> None:
    """Would take minutes if a step looked at all members, so it says so by hanging."""
    counts = {topic(number): 100 for number in range(1, 101)}
    low, high = frozenset(list(counts)[:80]), frozenset(list(counts)[40:])

    def group(first: frozenset[bytes], second: frozenset[bytes]) -> GroupSpec:
        members = [
            MemberSpec(f"{number:05}", None, second if number % 2 else first, {})
            for number in range(10_000)
        ]
        return GroupSpec(members, counts, is_homogeneous=first is second)

    everything = frozenset(counts)
    same = group(everything, everything)
    check_complete(same, assign_uniform(same))
    check_complete(same, assign_range(same))
    mixed = group(low, high)
    check_complete(mixed, assign_uniform(mixed))
