"""Who of a group's members has been silent for the longest time."""

from headrace.groups.consumer.last_heard import LastHeard


def heard(*members: tuple[str, int]) -> LastHeard:
    last_heard = LastHeard()
    for member_id, at_ms in members:
        last_heard.note(member_id, at_ms)
    return last_heard


def test_nobody_was_heard_from_yet() -> None:
    assert LastHeard().longest_ago_ms({"a"}) is None


def test_who_comes_again_is_no_longer_the_silent_one() -> None:
    last_heard = heard(("a", 1), ("b", 2), ("c", 3), ("a", 4))
    assert last_heard.longest_ago_ms({"a", "b", "c"}) == 2


def test_who_is_no_member_any_more_does_not_count() -> None:
    last_heard = heard(("a", 1), ("b", 2), ("c", 3))
    assert last_heard.longest_ago_ms({"c"}) == 3
    # And it is not kept: it would be forever, in a group that members come to and go from.
    assert last_heard.longest_ago_ms({"a", "b", "c"}) == 3


def test_who_comes_back_counts_from_then_on() -> None:
    last_heard = heard(("a", 1), ("b", 2))
    assert last_heard.longest_ago_ms({"b"}) == 2
    last_heard.note("a", 5)
    assert last_heard.longest_ago_ms({"a", "b"}) == 2
    last_heard.note("b", 6)
    assert last_heard.longest_ago_ms({"a", "b"}) == 5
