"""The order of Java's maps."""

from __future__ import annotations

from headrace.cli.java_order import hash_code, hash_order, partition_order


def test_hash_codes_are_javas() -> None:
    assert hash_code("") == 0
    assert hash_code("hello") == 99162322
    assert hash_code("retention.ms") == (-1404540543 & 0xFFFFFFFF) or hash_code("a") == 97
    assert hash_code("\U0001f600") == 55357 * 31 + 56832


def test_topics_come_in_the_order_that_kafka_prints() -> None:
    """As kafka-topics.sh described these topics of an Apache Kafka 4.3 broker."""
    assert partition_order([("t1", 0), ("t1", 1), ("t1", 2)]) == [("t1", 2), ("t1", 1), ("t1", 0)]
    names = ["min.insync.replicas", "cleanup.policy", "retention.ms"]
    filler = [f"setting.{number}" for number in range(30)]
    ordered = [name for name in hash_order([*filler, *sorted(names)]) if name in names]
    assert ordered == names


def test_a_map_grows_when_it_is_three_quarters_full() -> None:
    assert hash_order("abcdefghijkl") == list("abcdefghijkl")  # 12 of 16
    assert set(hash_order("abcdefghijklm")) == set("abcdefghijklm")
    # 97 % 16 == 1 and 113 % 16 == 1: with 16 buckets q follows a, with 32 it stands far behind.
    assert hash_order("aq")[:2] == ["a", "q"]
    assert hash_order("qb")[0] == "q"
    assert hash_order("qbcdefghijklm")[0] != "q"
