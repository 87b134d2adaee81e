"""Names of timers, and which topics members tell about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.groups.classic.group import ClassicGroup
from headrace.groups.classic.member import ClassicMember, MemberProtocol
from headrace.groups.timer_names import TimerName
from headrace.protocol.compiler import encode
from headrace.protocol.embedded import ConsumerProtocolSubscription


@given(st.text(), st.text())
def test_a_timer_is_known_by_its_name_whatever_characters_groups_have(
    group: str, member: str
) -> None:
    name = TimerName("classic-session", group, member)
    assert TimerName.parse(str(name)) == name


@given(st.tuples(st.text(), st.text()), st.tuples(st.text(), st.text()))
def test_no_two_timers_share_a_name(one: tuple[str, str], other: tuple[str, str]) -> None:
    names = {str(TimerName("kind", *one)), str(TimerName("kind", *other))}
    assert len(names) == len({one, other})


@pytest.mark.parametrize("version", range(4))
def test_the_topics_of_all_members_are_known_in_every_version(version: int) -> None:
    told = [
        version.to_bytes(2, "big") + encode(ConsumerProtocolSubscription(topics=topics), version)
        for topics in (["a", "b"], ["b", "c"])
    ]
    assert topics_of(told) == frozenset({"a", "b", "c"})


def test_one_member_that_cannot_be_understood_makes_the_topics_unknown() -> None:
    fine = b"\0\0" + encode(ConsumerProtocolSubscription(topics=["a"]), 0)
    for broken in (b"", b"\0", b"\0\0\xff\xff", b"opaque"):
        assert topics_of([fine, broken]) is None
        assert topics_of([broken, fine]) is None


def topics_of(subscriptions: list[bytes]) -> frozenset[str] | None:
    """What a group knows whose members say this."""
    group = ClassicGroup("g")
    for number, told in enumerate(subscriptions):
        protocols = (MemberProtocol("range", told),)
        group.add(ClassicMember(f"m{number}", None, "", "", 1, 1, protocols), "consumer")
    group.protocol_name = "range"
    group.update_subscribed_topics()
    return group.subscribed_topics
