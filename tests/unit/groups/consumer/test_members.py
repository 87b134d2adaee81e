"""What a group counts over its members."""

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.groups.consumer.member import Member, MemberState
from headrace.groups.consumer.members import Members
from headrace.groups.consumer.subscriptions import ResolvedRegex
from headrace.groups.records import ClassicMemberMetadata, ClassicProtocol

T = b"t" * 16


def test_a_partition_has_the_owner_that_came_last_whatever_the_order_of_records() -> None:
    """While a log is loaded, the record of the new owner may be applied before the old one's."""
    members = Members("g")
    members.put(Member("a", assigned={T: {0: 1, 1: 1}}))
    members.put(Member("b", assigned={T: {1: 2}}))
    members.put(Member("a", assigned={T: {0: 1}}))
    assert members.owner(T, 0) == "a"
    assert members.owner(T, 1) == "b"
    members.remove("b")
    assert members.owner(T, 1) is None


def test_what_has_to_be_given_up_still_has_its_owner() -> None:
    members = Members("g")
    members.put(Member("a", assigned={T: {0: 1}}, pending_revocation={T: {1: 1}}))
    assert members.owner(T, 1) == "a"
    members.put(Member("a", assigned={T: {0: 1}}))
    assert members.owner(T, 1) is None


def test_an_instance_id_belongs_to_whoever_came_last() -> None:
    members = Members("g")
    members.put(Member("old", instance_id="i"))
    members.put(Member("new", instance_id="i"))
    members.remove("old")
    holder = members.static("i")
    assert holder is not None
    assert holder.member_id == "new"
    members.remove("new")
    assert members.static("i") is None


def test_members_that_wait_for_partitions_of_others_are_counted() -> None:
    members = Members("g")
    for member_id in ("a", "b", "c"):
        members.put(Member(member_id, state=MemberState.UNRELEASED_PARTITIONS))
    assert members.waiting_count == 3
    members.put(Member("a"))
    members.remove("b")
    assert members.waiting_count == 1


def test_most_votes_choose_the_assignor() -> None:
    members = Members("g")
    assert members.preferred_assignor() is None
    members.put(Member("a", server_assignor="range"))
    members.put(Member("b", server_assignor="uniform"))
    new = Member("c", server_assignor="uniform")
    assert members.preferred_assignor(Member("c"), new) == "uniform"
    members.remove("b")
    assert members.preferred_assignor() == "range"


def test_protocols_of_classic_members_are_counted() -> None:
    def classic(*names: str) -> ClassicMemberMetadata:
        return ClassicMemberMetadata(supported_protocols=[ClassicProtocol(name=n) for n in names])

    members = Members("g")
    members.put(Member("a", classic=classic("range", "sticky")))
    members.put(Member("b", classic=classic("range")))
    assert (members.classic_count, members.classic_protocols) == (2, {"range": 2, "sticky": 1})
    members.put(Member("a"))
    assert (members.classic_count, members.classic_protocols) == (1, {"range": 1})


def test_a_stranger_is_refused() -> None:
    with pytest.raises(KafkaError) as refusal:
        Members("g").require("x")
    assert refusal.value.code is ErrorCode.UNKNOWN_MEMBER_ID


def test_topics_are_counted_by_name_and_by_expression() -> None:
    members = Members("g")
    members.put(Member("a", subscribed_topic_names=frozenset({"t", "u"})))
    members.put(Member("b", subscribed_topic_names=frozenset({"t"}), subscribed_topic_regex="u"))
    subscriptions = members.subscriptions
    subscriptions.resolve("u", ResolvedRegex(frozenset({"u", "uu"}), 1, 1))
    assert subscriptions.topics == {"t": (2, 0), "u": (1, 1), "uu": (0, 1)}
    without = subscriptions.without(
        [Member("b", subscribed_topic_names=frozenset({"t"}), subscribed_topic_regex="u")]
    )
    assert without.topics == {"t": (1, 0), "u": (1, 0)}
    assert without.resolved == {}
    members.remove("a")
    assert subscriptions.topics == {"t": (1, 0), "u": (0, 1), "uu": (0, 1)}


@pytest.mark.parametrize(
    ("members", "is_so"),
    [
        ([("t", ""), ("t", "")], True),
        ([("t", ""), ("t,u", "")], False),
        ([("", "x"), ("", "x")], True),
        ([("", "x"), ("", "y")], False),
        ([("", "x"), ("t", "x")], False),
        ([("t", "x"), ("t", "")], False),
        ([("", ""), ("", "")], True),
    ],
)
def test_a_group_is_homogeneous_if_everybody_reads_the_same(
    members: list[tuple[str, str]], is_so: bool
) -> None:
    group = Members("g")
    for number, (names, regex) in enumerate(members):
        topics = frozenset(name for name in names.split(",") if name)
        group.put(Member(str(number), subscribed_topic_names=topics, subscribed_topic_regex=regex))
        if regex:
            group.subscriptions.resolve(regex, ResolvedRegex(frozenset({f"of-{regex}"}), 1, 1))
    assert group.subscriptions.are_all_the_same(len(members)) == is_so
