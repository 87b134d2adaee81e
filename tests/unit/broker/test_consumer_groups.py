"""The APIs of consumer groups through their bytes: what they answer, and who may ask."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.base.errors import ErrorCode
from headrace.broker.authorization import Operation, ResourceType
from headrace.metadata import records as r
from headrace.metadata.features import GROUP_VERSION
from headrace.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from headrace.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from headrace.protocol.messages.find_coordinator import FindCoordinatorRequest
from headrace.protocol.messages.list_groups import ListGroupsRequest
from tests.unit.broker.fakes import DenyAll
from tests.unit.broker.harness import Broker

ONE_PARTITION = {"offsets.topic.num.partitions": "1"}
READ_G = (Operation.READ, ResourceType.GROUP, "g")
DESCRIBE_G = (Operation.DESCRIBE, ResourceType.GROUP, "g")
DESCRIBE_T = (Operation.DESCRIBE, ResourceType.TOPIC, "t")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    """A broker whose coordinators are there, and a topic `t` of two partitions."""
    running = Broker(tmp_path, overrides=ONE_PARTITION)
    prepare(running)
    yield running
    running.close()


def prepare(broker: Broker) -> None:
    broker.create_topic("t", 2)
    broker.ask(FindCoordinatorRequest(coordinator_keys=["g"]))


def restricted(tmp_path: Path, *allowed: tuple[Operation, ResourceType, str]) -> Broker:
    """One whose client may do only this; its topics are made by somebody else."""
    broker = Broker(tmp_path, overrides=ONE_PARTITION)
    prepare(broker)
    broker.connection.authorizer = DenyAll(*allowed)
    return broker


def beat(broker: Broker, epoch: int = 0, **fields: Any) -> Any:
    given = {"subscribed_topic_names": ["t"]} if epoch == 0 else {}
    return broker.ask(
        ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id="m",
            member_epoch=epoch,
            rebalance_timeout_ms=60_000,
            topic_partitions=[],
            **{**given, **fields},
        )
    )


def describe(broker: Broker, group: str = "g", **fields: Any) -> Any:
    (found,) = broker.ask(ConsumerGroupDescribeRequest(group_ids=[group], **fields)).groups
    return found


def test_a_member_joins_and_is_described(broker: Broker) -> None:
    joined = beat(broker)
    assert (joined.error_code, joined.member_epoch, joined.heartbeat_interval_ms) == (0, 2, 5_000)
    assert joined.assignment.topic_partitions[0].partitions == [0, 1]
    group = describe(broker, include_authorized_operations=True)
    assert (group.error_code, group.group_state, group.group_epoch) == (0, "Stable", 2)
    assert group.authorized_operations > 0
    (member,) = group.members
    assert (member.client_host, member.subscribed_topic_names) == ("/10.0.0.7", ["t"])
    assert member.assignment.topic_partitions[0].topic_name == "t"
    (listed,) = broker.ask(ListGroupsRequest()).groups
    assert (listed.group_type, listed.group_state) == ("consumer", "Stable")


def test_a_refusal_comes_with_its_sentence(broker: Broker) -> None:
    refused = beat(broker, 7)
    assert refused.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert refused.error_message == "Consumer group g not found."
    unknown = describe(broker)
    assert unknown.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert unknown.error_message == "Group g not found."
    assert describe(broker, "").error_code == ErrorCode.INVALID_GROUP_ID


def test_a_silent_member_is_put_out(broker: Broker) -> None:
    beat(broker)
    broker.advance(44_000)
    assert describe(broker).group_state == "Stable"
    broker.advance(1_001)
    assert describe(broker).group_state == "Empty"
    assert beat(broker, 2).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_regular_expression_is_looked_up_after_the_heartbeat(broker: Broker) -> None:
    joined = beat(broker, subscribed_topic_names=None, subscribed_topic_regex="t.*")
    assert joined.assignment.topic_partitions == []
    broker.advance(1)
    again = beat(broker, joined.member_epoch)
    assert again.assignment.topic_partitions[0].partitions == [0, 1]


def test_whoever_may_not_read_the_group_or_see_its_topics_stays_out(tmp_path: Path) -> None:
    for number, (allowed, error) in enumerate(
        [
            ((), ErrorCode.GROUP_AUTHORIZATION_FAILED),
            ((READ_G,), ErrorCode.TOPIC_AUTHORIZATION_FAILED),
            ((READ_G, DESCRIBE_T), ErrorCode.NONE),
        ]
    ):
        broker = restricted(tmp_path / str(number), *allowed)
        assert beat(broker).error_code == error
        broker.close()


def test_a_group_that_reads_hidden_topics_is_not_described(tmp_path: Path) -> None:
    broker = restricted(tmp_path, READ_G, DESCRIBE_T)
    beat(broker)
    assert describe(broker).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    broker.connection.authorizer = DenyAll(DESCRIBE_G)
    hidden = describe(broker)
    assert hidden.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert hidden.members == []
    broker.connection.authorizer = DenyAll(DESCRIBE_G, DESCRIBE_T)
    assert describe(broker).error_code == ErrorCode.NONE
    broker.close()


def test_an_expression_finds_only_what_its_member_may_see(tmp_path: Path) -> None:
    broker = restricted(tmp_path, READ_G, DESCRIBE_T)
    broker.create_topic("t-hidden", 1)
    epoch = beat(broker, subscribed_topic_names=[], subscribed_topic_regex="t.*").member_epoch
    broker.advance(1)
    (topic,) = beat(broker, epoch).assignment.topic_partitions
    assert topic.partitions == [0, 1]
    broker.close()


def test_a_cluster_that_is_not_upgraded_has_no_consumer_groups(broker: Broker) -> None:
    broker.plane.apply([r.FeatureLevelRecord(name=GROUP_VERSION, feature_level=0)])
    assert beat(broker).error_code == ErrorCode.UNSUPPORTED_VERSION
    assert describe(broker).error_code == ErrorCode.UNSUPPORTED_VERSION
