"""Whose offsets a transaction may hold: those of the cluster that it writes to, and no others."""

from collections.abc import Mapping

from headrace.spark.exactly_once_cluster import HomeCluster
from headrace.spark.exactly_once_offsets import SourceEnd

_IDS = {"here:1": "A", "here:2": "A", "there:1": "B", "old:1": None}


def at(servers: str) -> dict[str, str]:
    return {"bootstrap.servers": servers} if servers else {}


class Asked:
    """Answers as the clusters would, and notes who was asked."""

    def __init__(self) -> None:
        self.servers: list[str] = []

    def __call__(self, settings: Mapping[str, str]) -> str | None:
        self.servers.append(settings["bootstrap.servers"])
        return _IDS[settings["bootstrap.servers"]]


def test_a_topic_of_the_same_name_elsewhere_stays_out_of_the_transaction() -> None:
    home = HomeCluster(at("here:1"), Asked())
    here = SourceEnd({("orders", 0): 5}, at("here:2"))
    there = SourceEnd({("orders", 0): 900, ("orders", 1): 7}, at("there:1"))
    assert home.offsets_of([here, there]) == {("orders", 0): 5}
    assert home.offsets_of([there]) == {}


def test_the_same_address_is_the_same_cluster_without_asking() -> None:
    asked = Asked()
    home = HomeCluster(at("here:1"), asked)
    end = SourceEnd({("orders", 0): 5}, at("here:1"))
    assert home.offsets_of([end]) == {("orders", 0): 5}
    # What Spark does not tell is taken for ours, if the topic is there.
    assert home.offsets_of([SourceEnd({("orders", 1): 6})]) == {("orders", 1): 6}
    assert asked.servers == []


def test_each_cluster_is_asked_once() -> None:
    asked = Asked()
    home = HomeCluster(at("here:1"), asked)
    for _ in range(3):
        assert home.has(at("here:2"))
        assert not home.has(at("there:1"))
    assert sorted(asked.servers) == ["here:1", "here:2", "there:1"]


def test_a_cluster_without_an_id_is_another_one() -> None:
    assert not HomeCluster(at("here:1"), Asked()).has(at("old:1"))
    assert not HomeCluster(at("old:1"), Asked()).has(at("here:1"))


def test_of_two_sources_of_a_partition_the_one_behind_counts() -> None:
    home = HomeCluster(at("here:1"), Asked())
    ends = [SourceEnd({("orders", 0): n}, at("here:1")) for n in (9, 4, 6)]
    assert home.offsets_of(ends) == {("orders", 0): 4}
