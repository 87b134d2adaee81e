"""The hash of a group's topics: numbers that Kafka's own classes gave for the same topics."""

from headrace.groups.consumer.metadata_hash import MetadataHashes, topic_hash
from headrace.groups.topics import TopicView
from tests.unit.groups.consumer.world import Topics

ORDERS = TopicView("orders", bytes(range(1, 17)), 2)
BIG = TopicView("big", (1).to_bytes(8, "big") + (2).to_bytes(8, "big"), 100)


def test_a_topic_hashes_as_in_kafka() -> None:
    assert topic_hash(ORDERS, [["rack-a"], ["ré", "r"]]) == 8043628800515772135
    assert topic_hash(BIG, [[]] * 100) == -4080504707798280570


def test_a_rack_that_comes_twice_counts_twice() -> None:
    assert topic_hash(ORDERS, [["r", "r"], []]) != topic_hash(ORDERS, [["r"], []])


def test_a_group_hashes_its_topics_in_the_order_of_their_names() -> None:
    topics = Topics()
    for name in ("b", "a", "c"):
        topics.put(name, 2)
    hashes = MetadataHashes(topics)
    assert hashes.of_group(["a", "b"]) == hashes.of_group(["b", "a"])
    assert hashes.of_group(["a", "b"]) != hashes.of_group(["a", "c"])


def test_topics_that_do_not_exist_do_not_count() -> None:
    topics = Topics()
    topics.put("a", 2)
    hashes = MetadataHashes(topics)
    assert hashes.of_group([]) == hashes.of_group(["missing"]) == 0
    assert hashes.of_group(["a", "missing"]) == hashes.of_group(["a"])


def test_a_hash_is_remembered_until_the_topic_changes() -> None:
    topics = Topics()
    topics.put("a", 2)
    hashes = MetadataHashes(topics)
    before = hashes.of_group(["a"])
    topics.put("a", 3)
    assert hashes.of_group(["a"]) == before
    hashes.forget("a")
    assert hashes.of_group(["a"]) != before
