"""The assignors: who gets what, and who keeps what."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.client.assignors.cooperative import assign_cooperatively
from headrace.client.assignors.range import assign_ranges
from headrace.client.assignors.round_robin import assign_round_robin
from headrace.client.assignors.sticky import assign_sticky
from headrace.client.assignors.strategies import STRATEGIES, find_strategies
from headrace.client.assignors.subscriber import Subscriber


def member(name: str, *topics: str, instance: str | None = None) -> Subscriber:
    return Subscriber(name, instance, topics)


def had(name: str, *owned: int, generation: int = 1) -> Subscriber:
    return Subscriber(name, None, ("t",), tuple(("t", i) for i in owned), generation)


def test_ranges_go_in_runs_and_the_first_members_get_what_is_left_over() -> None:
    shares = assign_ranges([member("b", "t", "u"), member("a", "t", "u")], {"t": 3, "u": 1})
    assert shares == {"a": [("t", 0), ("t", 1), ("u", 0)], "b": [("t", 2)]}


def test_static_members_come_first_by_their_own_ids() -> None:
    members = [
        member("a", "t"),
        member("z", "t", instance="1"),
        member("b", "t", instance="2"),
    ]
    assert assign_ranges(members, {"t": 3}) == {"z": [("t", 0)], "b": [("t", 1)], "a": [("t", 2)]}


def test_round_robin_goes_on_with_the_next_member_at_the_next_topic() -> None:
    shares = assign_round_robin([member("a", "t", "u"), member("b", "t", "u")], {"t": 3, "u": 3})
    assert shares["a"] == [("t", 0), ("t", 2), ("u", 1)]


def test_a_newcomer_gets_its_part_and_nobody_else_moves() -> None:
    shares = assign_sticky(
        [had("a", 0, 1, 2), had("b", 3, 4, 5), had("c", generation=-1)], {"t": 6}
    )
    assert shares == {
        "a": [("t", 0), ("t", 1)],
        "b": [("t", 3), ("t", 4)],
        "c": [("t", 2), ("t", 5)],
    }


def test_of_two_claims_the_later_generation_counts() -> None:
    shares = assign_sticky([had("a", 0, generation=1), had("b", 0, generation=2)], {"t": 2})
    assert shares == {"a": [("t", 1)], "b": [("t", 0)]}


def test_a_chain_of_moves_evens_out_what_no_single_move_can() -> None:
    members = [
        Subscriber("a", None, ("t",), (("t", 0), ("t", 1)), 1),
        Subscriber("b", None, ("t", "u"), (("u", 0),), 1),
        Subscriber("c", None, ("u",)),
    ]
    shares = assign_sticky(members, {"t": 2, "u": 1})
    assert {name: len(share) for name, share in shares.items()} == {"a": 1, "b": 1, "c": 1}


def test_a_partition_waits_until_its_holder_has_given_it_up() -> None:
    members = [had("a", 0, 1), had("b", generation=-1)]
    assert assign_cooperatively(members, {"t": 2}) == {"a": [("t", 0)], "b": []}
    members = [had("a", 0), had("b")]
    assert assign_cooperatively(members, {"t": 2}) == {"a": [("t", 0)], "b": [("t", 1)]}


def test_the_names_are_kafkas_with_and_without_their_package() -> None:
    long, short, plain = (
        "org.apache.kafka.clients.consumer.StickyAssignor",
        "RangeAssignor",
        "cooperative-sticky",
    )
    found = find_strategies(f"{long}, {short},{plain}")
    assert [strategy.name for strategy in found] == ["sticky", "range", "cooperative-sticky"]
    with pytest.raises(ValueError, match="no assignor Mine"):
        find_strategies("Mine")


@st.composite
def random_groups(draw: st.DrawFn) -> tuple[list[Subscriber], dict[str, int]]:
    counts = draw(st.dictionaries(st.sampled_from("tuvw"), st.integers(0, 6), min_size=1))
    claims = st.lists(st.tuples(st.sampled_from("tuvwx"), st.integers(0, 7)), max_size=8)
    members = [
        Subscriber(
            f"m{n}",
            draw(st.sampled_from([None, f"i{n}"])),
            tuple(draw(st.sets(st.sampled_from(sorted(counts)), min_size=1))),
            tuple(draw(claims)),
            draw(st.integers(-1, 2)),
        )
        for n in range(draw(st.integers(1, 5)))
    ]
    return members, counts


@pytest.mark.parametrize("name", [strategy.name for strategy in STRATEGIES])
@settings(max_examples=150, deadline=None)
@given(random_groups())
def test_each_partition_goes_to_one_subscriber(
    name: str, group: tuple[list[Subscriber], dict[str, int]]
) -> None:
    members, counts = group
    (strategy,) = find_strategies(name)
    shares = strategy.assign(members, counts)
    assert shares.keys() == {m.member_id for m in members}
    given_out = [partition for share in shares.values() for partition in share]
    assert len(given_out) == len(set(given_out))
    wanted = {(t, i) for m in members for t in m.topics for i in range(counts[t])}
    assert set(given_out) <= wanted
    if not strategy.is_cooperative:
        assert set(given_out) == wanted
    topics = {m.member_id: set(m.topics) for m in members}
    assert all(p[0] in topics[name] for name, share in shares.items() for p in share)
