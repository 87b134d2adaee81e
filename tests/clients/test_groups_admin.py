"""Groups from the outside: listing, describing, moving and deleting offsets, deleting groups."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from kafka.admin import KafkaAdminClient

from headrace.testing import EmbeddedKafka
from tests.clients.members import Board, ConfluentMember

PARTITIONS = 2


@pytest.fixture
def admin(node: EmbeddedKafka) -> AdminClient:
    return AdminClient({"bootstrap.servers": node.bootstrap_servers, "log_level": 0})


def alter(admin: AdminClient, group: str, *offsets: TopicPartition) -> Any:
    asked = [ConsumerGroupTopicPartitions(group, list(offsets))]
    return admin.alter_consumer_group_offsets(asked)[group].result()


def test_a_group_with_a_member_is_seen_as_it_is(node: EmbeddedKafka, admin: AdminClient) -> None:
    topic, board = node.topic(partitions=PARTITIONS), Board()
    group = f"seen-{topic}"
    with ConfluentMember(board, "watched", node.bootstrap_servers, topic, group):
        board.wait_for(lambda: board.shares(1, PARTITIONS))
        seen = admin.describe_consumer_groups([group])[group].result()
        assert seen.state == ConsumerGroupState.STABLE
        assert seen.partition_assignor == "range"
        (member,) = seen.members
        assert member.client_id == "watched"
        assert member.host == "/127.0.0.1"
        held = [(one.topic, one.partition) for one in member.assignment.topic_partitions]
        assert held == [(topic, 0), (topic, 1)]
        with pytest.raises(KafkaException, match="NON_EMPTY_GROUP"):
            admin.delete_consumer_groups([group])[group].result()
        (moved,) = alter(admin, group, TopicPartition(topic, 0, 1)).topic_partitions
        assert moved.error.name() == "UNKNOWN_MEMBER_ID"
        listed = admin.list_consumer_groups(states={ConsumerGroupState.STABLE}).result()
        assert group in [one.group_id for one in listed.valid]
    listed = admin.list_consumer_groups(states={ConsumerGroupState.STABLE}).result()
    assert group not in [one.group_id for one in listed.valid]


def test_offsets_of_an_empty_group_can_be_moved_and_the_group_deleted(
    node: EmbeddedKafka, admin: AdminClient
) -> None:
    topic = node.topic(partitions=PARTITIONS)
    group = f"moved-{topic}"
    alter(admin, group, TopicPartition(topic, 0, 5), TopicPartition(topic, 1, 6))
    asked = [ConsumerGroupTopicPartitions(group)]
    found = admin.list_consumer_group_offsets(asked)[group].result().topic_partitions
    assert {(one.partition, one.offset) for one in found} == {(0, 5), (1, 6)}
    alter(admin, group, TopicPartition(topic, 0, 2))
    found = admin.list_consumer_group_offsets(asked)[group].result().topic_partitions
    assert {(one.partition, one.offset) for one in found} == {(0, 2), (1, 6)}
    assert admin.delete_consumer_groups([group])[group].result() is None
    with pytest.raises(KafkaException, match="GROUP_ID_NOT_FOUND"):
        admin.delete_consumer_groups([group])[group].result()


def test_a_commit_for_what_does_not_exist_is_refused(
    node: EmbeddedKafka, admin: AdminClient
) -> None:
    topic = node.topic(partitions=PARTITIONS)
    group = f"refused-{topic}"
    answer = alter(admin, group, TopicPartition(topic, 9, 5), TopicPartition("not-there", 0, 5))
    assert {one.error.name() for one in answer.topic_partitions} == {"UNKNOWN_TOPIC_OR_PART"}


def test_offsets_go_with_their_topic(node: EmbeddedKafka, admin: AdminClient) -> None:
    topic, kept = node.topic(partitions=PARTITIONS), node.topic()
    group = f"gone-{topic}"
    alter(admin, group, TopicPartition(topic, 0, 5), TopicPartition(kept, 0, 6))
    node.delete_topic(topic)
    asked = [ConsumerGroupTopicPartitions(group)]
    found = admin.list_consumer_group_offsets(asked)[group].result().topic_partitions
    assert [(one.topic, one.offset) for one in found] == [(kept, 6)]


def test_kafka_python_sees_the_same(node: EmbeddedKafka, admin: AdminClient) -> None:
    topic, board = node.topic(partitions=PARTITIONS), Board()
    group = f"other-{topic}"
    with ConfluentMember(board, "watched", node.bootstrap_servers, topic, group):
        board.wait_for(lambda: board.shares(1, PARTITIONS))
        other = KafkaAdminClient(bootstrap_servers=node.bootstrap_servers)
        try:
            assert group in {one["group_id"] for one in other.list_groups()}
            assert other.describe_groups([group])[group]["group_state"] == "Stable"
        finally:
            other.close()
