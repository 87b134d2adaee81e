"""Groups with many members are described in steps, between which others have their turns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.groups.classic.group import ClassicGroup
from headrace.groups.classic.member import ClassicMember, MemberProtocol
from headrace.groups.classic.states import State
from headrace.groups.records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    TopicPartition,
    TopicPartitions,
)
from headrace.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from headrace.protocol.messages.describe_groups import DescribeGroupsRequest
from tests.unit.broker.frames import Exchange
from tests.unit.broker.harness import Broker
from tests.unit.broker.one_coordinator import (
    ask,
    coordinator,
    one_coordinator,
    turns_until_answered,
)

MEMBERS = 1_000


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with one_coordinator(tmp_path, t=2) as running:
        yield running


def consumer_group(broker: Broker, group_id: str = "g", members: int = MEMBERS) -> None:
    """Members that all have partition 0 and are to have partition 1."""
    topic_id = broker.plane.image.topics_by_name["t"].topic_id
    apply = coordinator(broker).apply
    for number in range(members):
        given = {"group_id": group_id, "member_id": f"m{number}"}
        subscription = ConsumerGroupMemberMetadataValue(
            client_id="c", client_host="/h", subscribed_topic_names=["t"]
        )
        apply(ConsumerGroupMemberMetadataKey(**given), subscription, -1)
        target = ConsumerGroupTargetAssignmentMemberValue(
            topic_partitions=[TopicPartition(topic_id=topic_id, partitions=[1])]
        )
        apply(ConsumerGroupTargetAssignmentMemberKey(**given), target, -1)
        current = ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=1,
            assigned_partitions=[TopicPartitions(topic_id=topic_id, partitions=[0])],
        )
        apply(ConsumerGroupCurrentMemberAssignmentKey(**given), current, -1)


def classic_group(broker: Broker, group_id: str = "g", members: int = MEMBERS) -> ClassicGroup:
    group = ClassicGroup(group_id, 0)
    group.state = State.STABLE
    for number in range(members):
        protocols = (MemberProtocol("range", b"metadata"),)
        member = ClassicMember(f"m{number}", None, "c", "/h", 1_000, 1_000, protocols, b"before")
        group.add(member, "consumer")
    group.protocol_name = "range"
    coordinator(broker).groups.put(group)
    return group


def members_of(exchange: Exchange) -> dict[str, Any]:
    (group,) = exchange.response.groups
    return {member.member_id: member for member in group.members}


def test_a_large_consumer_group_takes_many_turns_and_is_described_whole(broker: Broker) -> None:
    consumer_group(broker)
    exchange = ask(broker, ConsumerGroupDescribeRequest(group_ids=["g"]))
    assert turns_until_answered(broker, exchange) > 10
    members = members_of(exchange)
    assert list(members) == [f"m{number}" for number in range(MEMBERS)]
    for member in members.values():
        assert member.assignment.topic_partitions[0].partitions == [0]
        assert member.target_assignment.topic_partitions[0].partitions == [1]
        assert member.target_assignment.topic_partitions[0].topic_name == "t"


def test_a_large_classic_group_takes_many_turns_and_is_described_whole(broker: Broker) -> None:
    classic_group(broker)
    exchange = ask(broker, DescribeGroupsRequest(groups=["g"]))
    assert turns_until_answered(broker, exchange) > 10
    members = members_of(exchange)
    assert list(members) == [f"m{number}" for number in range(MEMBERS)]
    assert {member.member_metadata for member in members.values()} == {b"metadata"}


def test_what_happens_to_a_consumer_group_meanwhile_is_not_seen(broker: Broker) -> None:
    consumer_group(broker)
    exchange = ask(broker, ConsumerGroupDescribeRequest(group_ids=["g"]))
    broker.scheduler.turn()
    last = {"group_id": "g", "member_id": f"m{MEMBERS - 1}"}
    apply = coordinator(broker).apply
    apply(ConsumerGroupCurrentMemberAssignmentKey(**last), None, -1)
    apply(ConsumerGroupTargetAssignmentMemberKey(**last), None, -1)
    apply(ConsumerGroupMemberMetadataKey(**last), None, -1)
    turns_until_answered(broker, exchange)
    member = members_of(exchange)[f"m{MEMBERS - 1}"]
    assert member.assignment.topic_partitions[0].partitions == [0]
    assert member.target_assignment.topic_partitions[0].partitions == [1]


def test_what_happens_to_a_classic_group_meanwhile_is_not_seen(broker: Broker) -> None:
    group = classic_group(broker)
    exchange = ask(broker, DescribeGroupsRequest(groups=["g"]))
    broker.scheduler.turn()
    for member in group.members:
        member.assignment = b"after"
    turns_until_answered(broker, exchange)
    assert {one.member_assignment for one in members_of(exchange).values()} == {b"before"}


def test_many_groups_are_not_looked_at_in_one_turn(broker: Broker) -> None:
    names = [f"g{number}" for number in range(20)]
    for name in names:
        classic_group(broker, name)
    noted: list[str] = []
    handle = coordinator(broker).handle

    def watched(token: int, request: Any, client: Any, now_ms: int) -> Any:
        noted.extend(request.group_ids)
        return handle(token, request, client, now_ms)

    coordinator(broker).handle = watched  # type: ignore[method-assign]
    exchange = ask(broker, DescribeGroupsRequest(groups=[*names, "", "unknown"]))
    assert 0 < len(noted) <= 5
    turns_until_answered(broker, exchange)
    groups = exchange.response.groups
    assert [group.group_id for group in groups] == [*names, "", "unknown"]
    assert [len(group.members) for group in groups] == [MEMBERS] * 20 + [0, 0]


def test_nothing_more_is_done_for_a_client_that_is_gone(broker: Broker) -> None:
    consumer_group(broker)
    exchange = ask(broker, ConsumerGroupDescribeRequest(group_ids=["g"]))
    broker.scheduler.turn()
    assert exchange.parked is not None
    exchange.parked.abandon()
    broker.scheduler.turn()
    assert not broker.scheduler._soon
    assert not exchange.is_answered


def test_a_small_group_is_described_at_once(broker: Broker) -> None:
    consumer_group(broker, members=3)
    exchange = ask(broker, ConsumerGroupDescribeRequest(group_ids=["g"]))
    assert list(members_of(exchange)) == ["m0", "m1", "m2"]


def test_errors_in_an_answer_that_came_in_steps_are_counted(broker: Broker) -> None:
    consumer_group(broker)
    request = ConsumerGroupDescribeRequest(group_ids=["g", "unknown"])
    before = sum(broker.metrics.errors.values())
    turns_until_answered(broker, ask(broker, request))
    assert sum(broker.metrics.errors.values()) == before + 1
