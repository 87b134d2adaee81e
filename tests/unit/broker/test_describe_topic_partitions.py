"""DescribeTopicPartitions: pages of topics in the order of their names."""

from pathlib import Path
from typing import Any

import pytest

from headrace.base.errors import ErrorCode
from headrace.broker.authorization import Operation, ResourceType
from headrace.metadata import records as r
from headrace.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from tests.unit.broker.fakes import NODE_ID, DenyAll
from tests.unit.broker.harness import Broker

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def request(*names: str, limit: int = 2000, cursor: tuple[str, int] | None = None) -> Any:
    return DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=Cursor(topic_name=cursor[0], partition_index=cursor[1]) if cursor else None,
    )


def page(response: Any) -> tuple[list[tuple[str, list[int]]], tuple[str, int] | None]:
    """What is on a page, and where the next begins."""
    topics = [
        (topic.name, [partition.partition_index for partition in topic.partitions])
        for topic in response.topics
    ]
    cursor = response.next_cursor
    return topics, (cursor.topic_name, cursor.partition_index) if cursor else None


def all_pages(broker: Broker, *names: str, limit: int) -> list[list[tuple[str, list[int]]]]:
    pages = []
    cursor = None
    while True:
        topics, cursor = page(broker.ask(request(*names, limit=limit, cursor=cursor)))
        pages.append(topics)
        if cursor is None:
            return pages


@pytest.fixture
def three(broker: Broker) -> Broker:
    """Topics b (3 partitions), a (2) and c (1)."""
    for name, partitions in (("b", 3), ("a", 2), ("c", 1)):
        broker.create_topic(name, partitions)
    return broker


def test_all_topics_in_the_order_of_their_names(three: Broker) -> None:
    topics, cursor = page(three.ask(request()))
    assert topics == [("a", [0, 1]), ("b", [0, 1, 2]), ("c", [0])]
    assert cursor is None


def test_named_topics_in_the_same_order_each_once(three: Broker) -> None:
    topics, _ = page(three.ask(request("c", "a", "c")))
    assert topics == [("a", [0, 1]), ("c", [0])]


def test_a_partition_is_told_with_everything_about_it(broker: Broker) -> None:
    topic_id = broker.create_topic("t")
    broker.plane.apply(
        [
            r.PartitionChangeRecord(
                topic_id=topic_id,
                partition_id=0,
                eligible_leader_replicas=[7],
                last_known_elr=[8, 9],
            )
        ]
    )
    (topic,) = broker.ask(request("t")).topics
    assert (topic.error_code, topic.topic_id, topic.is_internal) == (0, topic_id, False)
    (partition,) = topic.partitions
    assert (partition.leader_id, partition.leader_epoch) == (NODE_ID, 0)
    assert (partition.replica_nodes, partition.isr_nodes) == ([NODE_ID], [NODE_ID])
    assert (partition.eligible_leader_replicas, partition.last_known_elr) == ([7], [8, 9])
    assert partition.offline_replicas == []


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6, 7])
def test_pages_join_to_the_whole(three: Broker, limit: int) -> None:
    pages = all_pages(three, limit=limit)
    joined = [(name, index) for one in pages for name, indexes in one for index in indexes]
    assert joined == [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("b", 2), ("c", 0)]
    assert all(sum(len(indexes) for _, indexes in one) <= limit for one in pages)


def test_a_page_may_end_within_a_topic(three: Broker) -> None:
    topics, cursor = page(three.ask(request(limit=3)))
    assert topics == [("a", [0, 1]), ("b", [0])]
    assert cursor == ("b", 1)


def test_a_page_may_end_between_topics(three: Broker) -> None:
    topics, cursor = page(three.ask(request(limit=2)))
    assert topics == [("a", [0, 1])]
    assert cursor == ("b", 0)


@pytest.mark.parametrize("limit", [0, -5])
def test_a_page_has_at_least_one_partition(three: Broker, limit: int) -> None:
    assert page(three.ask(request(limit=limit))) == ([("a", [0])], ("a", 1))


def test_the_brokers_own_limit_counts_too(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"max.request.partition.size.limit": "2"})
    broker.create_topic("t", 5)
    assert page(broker.ask(request())) == ([("t", [0, 1])], ("t", 2))
    broker.close()


def test_a_cursor_on_a_topic_that_is_gone_goes_on_with_the_next(three: Broker) -> None:
    assert page(three.ask(request(cursor=("ab", 4))))[0] == [("b", [0, 1, 2]), ("c", [0])]


def test_a_cursor_beyond_the_partitions_of_its_topic_goes_on_with_the_next(three: Broker) -> None:
    topics, cursor = page(three.ask(request("a", "b", cursor=("a", 9))))
    assert (topics, cursor) == ([("a", []), ("b", [0, 1, 2])], None)


@pytest.mark.parametrize("cursor", [("zzz", 0), ("b", 0), ("a", -1)])
def test_a_cursor_that_makes_no_sense_is_an_invalid_request(
    three: Broker, cursor: tuple[str, int]
) -> None:
    response = three.ask(request("a", "c", cursor=cursor))
    codes = [(topic.name, topic.error_code) for topic in response.topics]
    assert codes == [("a", ErrorCode.INVALID_REQUEST), ("c", ErrorCode.INVALID_REQUEST)]


def test_unknown_and_impossible_names_are_told(three: Broker) -> None:
    response = three.ask(request("a", "nowhere", "not valid"))
    assert [(topic.name, topic.error_code) for topic in response.topics] == [
        ("a", ErrorCode.NONE),
        ("not valid", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("nowhere", UNKNOWN),
    ]


def test_hidden_topics_are_left_out_or_refused_whether_they_exist_or_not(tmp_path: Path) -> None:
    right = (Operation.DESCRIBE, ResourceType.TOPIC, "seen")
    broker = Broker(tmp_path, authorizer=DenyAll(right))
    for name in ("hidden", "seen"):
        broker.create_topic(name)
    assert [topic.name for topic in broker.ask(request()).topics] == ["seen"]
    response = broker.ask(request("hidden", "nowhere", "seen"))
    refused = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert [(t.name, t.error_code, t.topic_authorized_operations) for t in response.topics] == [
        ("seen", ErrorCode.NONE, 1 << Operation.DESCRIBE),
        ("hidden", refused, -(2**31)),
        ("nowhere", refused, -(2**31)),
    ]
    broker.close()
