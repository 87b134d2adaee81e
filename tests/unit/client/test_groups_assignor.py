"""The range assignor."""

from headrace.client.groups_assignor import Subscriber, assign_ranges


def subscriber(name: str, *topics: str, instance: str | None = None) -> Subscriber:
    return Subscriber(name, instance, topics)


def test_each_topic_goes_in_runs_and_the_first_members_get_what_is_left_over() -> None:
    members = [subscriber("b", "t", "u"), subscriber("a", "t", "u")]
    shares = assign_ranges(members, {"t": 3, "u": 1})
    assert shares == {"a": [("t", 0), ("t", 1), ("u", 0)], "b": [("t", 2)]}


def test_only_subscribers_of_a_topic_get_its_partitions() -> None:
    members = [subscriber("a", "t"), subscriber("b", "u"), subscriber("c", "t")]
    shares = assign_ranges(members, {"t": 2, "u": 2, "nobodys": 5})
    assert shares == {"a": [("t", 0)], "b": [("u", 0), ("u", 1)], "c": [("t", 1)]}


def test_static_members_come_first_by_their_own_ids() -> None:
    members = [
        subscriber("a", "t"),
        subscriber("z", "t", instance="1"),
        subscriber("b", "t", instance="2"),
    ]
    shares = assign_ranges(members, {"t": 3})
    assert shares == {"z": [("t", 0)], "b": [("t", 1)], "a": [("t", 2)]}


def test_more_members_than_partitions_leave_some_with_nothing() -> None:
    members = [subscriber(name, "t") for name in "abc"]
    assert assign_ranges(members, {"t": 1}) == {"a": [("t", 0)], "b": [], "c": []}
