"""Where replicas go."""

import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.base.errors import ErrorCode, KafkaError
from headrace.metadata.controller.placement import Placer
from headrace.metadata.image import BrokerImage
from tests.unit.metadata.samples import broker_records, replayed


def brokers(*ids: int, rack: str | None = None, fenced: bool = False) -> list[BrokerImage]:
    return list(replayed(broker_records(*ids, rack=rack, fenced=fenced)).brokers.values())


def first(_: int) -> int:
    return 0


def test_partitions_stripe_over_the_brokers() -> None:
    placed = Placer(brokers(1, 2, 3), first).place(3, 2)
    assert placed == [[1, 2], [2, 3], [3, 1]]


def test_replicas_of_a_partition_lie_in_different_racks() -> None:
    everybody = [*brokers(1, 2, rack="a"), *brokers(3, 4, rack="b"), *brokers(5, 6, rack="c")]
    rack = {broker.broker_id: broker.rack for broker in everybody}
    for replicas in Placer(everybody, first).place(12, 3):
        assert len({rack[replica] for replica in replicas}) == 3


def test_fenced_brokers_follow_but_never_come_first() -> None:
    everybody = [*brokers(1, 2), *brokers(3, fenced=True)]
    for replicas in Placer(everybody, first).place(10, 3):
        assert replicas[0] in (1, 2)
        assert sorted(replicas) == [1, 2, 3]


def test_one_broker_takes_everything() -> None:
    assert Placer(brokers(7), first).place(5, 1) == [[7]] * 5


@pytest.mark.parametrize(
    ("everybody", "factor", "reason"),
    [
        (brokers(1), 0, "must be positive"),
        (brokers(1), 2, "only 1 broker"),
        (brokers(1, fenced=True), 1, "All brokers are currently fenced"),
        ([], 1, "All brokers are currently fenced"),
    ],
)
def test_impossible_factors(everybody: list[BrokerImage], factor: int, reason: str) -> None:
    with pytest.raises(KafkaError, match=reason):
        Placer(everybody, first).place(1, factor)


def test_a_broker_without_an_open_directory_gets_nothing() -> None:
    one, two = b"1" * 16, b"2" * 16
    (broker,) = replayed(broker_records(1, directories=[one, two])).brokers.values()
    half = replace(broker, cordoned_directories=(two,))
    full = replace(broker, cordoned_directories=(two, one))
    assert Placer([half], first).place(1, 1) == [[1]]
    assert Placer([full, *brokers(2)], first).place(2, 1) == [[2], [2]]
    with pytest.raises(KafkaError, match="only 1 broker"):
        Placer([full, *brokers(2)], first).place(1, 2)
    with pytest.raises(KafkaError) as refused:
        Placer([full], first).place(1, 1)
    assert (refused.value.code, refused.value.message) == (
        ErrorCode.INVALID_REPLICATION_FACTOR,
        "All brokers are currently fenced, or have all their log directories cordoned.",
    )


@given(
    racks=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    factor=st.integers(1, 4),
    seed=st.integers(0, 1000),
)
def test_every_placement_is_legal_and_leaders_of_one_rack_are_even(
    racks: list[int], factor: int, seed: int
) -> None:
    everybody: list[BrokerImage] = []
    for number, size in enumerate(racks):
        start = len(everybody) + 1
        everybody += brokers(*range(start, start + size), rack=f"r{number}")
    chance = random.Random(seed).randrange
    factor = min(factor, len(everybody))
    placed = Placer(everybody, chance).place(4 * len(everybody), factor)
    for replicas in placed:
        assert len(set(replicas)) == factor
    if len(racks) == 1 or set(racks) == {1}:
        leaders = Counter(replicas[0] for replicas in placed)
        assert set(leaders.values()) == {4}
