"""Who of a group's members has been silent for the longest time."""

from headrace.groups.consumer.last_heard import LastHeard
from headrace.groups.consumer.member import Member
from headrace.groups.consumer.members import Members
from headrace.groups.records import ClassicMemberMetadata


def heard(*heartbeats: tuple[str, int]) -> LastHeard:
    last_heard = LastHeard()
    for member_id, at_ms in heartbeats:
        last_heard.note(member_id, at_ms)
    return last_heard


def members(*member_ids: str) -> Members:
    group = Members("g")
    for member_id in member_ids:
        group.put(Member(member_id))
    return group


def test_nobody_was_heard_from_yet() -> None:
    assert LastHeard().longest_ago_ms(members("a")) is None


def test_who_comes_again_is_no_longer_the_silent_one() -> None:
    last_heard = heard(("a", 1), ("b", 2), ("c", 3), ("a", 4))
    assert last_heard.longest_ago_ms(members("a", "b", "c")) == 2


def test_who_is_no_member_any_more_does_not_count() -> None:
    last_heard = heard(("a", 1), ("b", 2), ("c", 3))
    assert last_heard.longest_ago_ms(members("c")) == 3
    # And it is not kept: it would be forever, in a group that members come to and go from.
    assert last_heard.longest_ago_ms(members("a", "b", "c")) == 3


def test_who_comes_back_counts_from_then_on() -> None:
    last_heard = heard(("a", 1), ("b", 2))
    assert last_heard.longest_ago_ms(members("b")) == 2
    last_heard.note("a", 5)
    assert last_heard.longest_ago_ms(members("a", "b")) == 2
    last_heard.note("b", 6)
    assert last_heard.longest_ago_ms(members("a", "b")) == 5


def test_who_speaks_the_classic_protocol_now_is_waited_for_elsewhere() -> None:
    last_heard = heard(("a", 1), ("b", 2))
    group = members("a", "b")
    group.put(Member("a", classic=ClassicMemberMetadata()))
    assert last_heard.longest_ago_ms(group) == 2
