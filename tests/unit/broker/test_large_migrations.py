"""A group of many members changes its protocol in steps, between which others have turns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.base.errors import ErrorCode
from headrace.groups.classic.group import ClassicGroup
from headrace.groups.classic.group_record import group_record
from headrace.groups.classic.member import ClassicMember, MemberProtocol
from headrace.groups.classic.states import State
from headrace.groups.consumer.group import ConsumerGroup
from headrace.protocol import compiler
from headrace.protocol.embedded import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from headrace.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from headrace.protocol.messages.heartbeat import HeartbeatRequest
from headrace.protocol.messages.metadata import MetadataRequest
from tests.unit.broker.harness import Broker
from tests.unit.broker.one_coordinator import ask, one_coordinator, turns_until_answered

MEMBERS = 1_000
SUBSCRIPTION = b"\0\0" + compiler.encode(ConsumerProtocolSubscription(topics=["t"]), 0)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with one_coordinator(tmp_path, t=MEMBERS) as running:
        yield running


def assignment(number: int) -> bytes:
    part = TopicPartition(topic="t", partitions=[number])
    return b"\0\0" + compiler.encode(ConsumerProtocolAssignment(assigned_partitions=[part]), 0)


def classic_group(broker: Broker) -> None:
    """Its record is written by somebody else, before the coordinator looks."""
    group = ClassicGroup("g", 0)
    group.state = State.STABLE
    group.generation = 5
    for number in range(MEMBERS):
        protocols = (MemberProtocol("range", SUBSCRIPTION),)
        member = ClassicMember(f"m{number}", None, "c", "/h", 60_000, 60_000, protocols)
        group.add(member, "consumer")
        member.assignment = assignment(number)
    group.protocol_name = "range"
    group.update_subscribed_topics()
    group_of(broker, put=group)


def group_of(broker: Broker, put: ClassicGroup | None = None) -> Any:
    (shard,) = broker.groups.coordinators
    if put is not None:
        assignments = {member.member_id: member.assignment for member in put.members}
        shard.coordinator.apply(*group_record(put, assignments), -1)
        shard.coordinator.groups.put(put)
    return shard.coordinator.groups.get("g")


def beat(epoch: int) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="new",
        member_epoch=epoch,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=["t"] if epoch == 0 else None,
        topic_partitions=[] if epoch == 0 else None,
    )


def reloaded(broker: Broker) -> Any:
    """The group as a coordinator has it that knows nothing but the log."""
    (shard,) = broker.groups.coordinators
    broker.groups.coordinators.resign(0)
    broker.groups.coordinators.lead(shard.partition)
    broker.scheduler.settle()
    return group_of(broker)


def test_there_and_back_takes_many_turns_and_loses_nothing(broker: Broker) -> None:
    classic_group(broker)
    joining = ask(broker, beat(0))
    broker.scheduler.turn()
    # Others are served meanwhile; members of the same coordinator wait.
    assert ask(broker, MetadataRequest(topics=[])).is_answered
    heartbeat = HeartbeatRequest(group_id="g", member_id="m7", generation_id=5)
    waiting = ask(broker, heartbeat)
    assert not waiting.is_answered
    assert turns_until_answered(broker, joining) > 20
    assert joining.response.error_code == 0
    broker.scheduler.settle()
    assert waiting.response.error_code == ErrorCode.REBALANCE_IN_PROGRESS

    topic_id = broker.plane.image.topics_by_name["t"].topic_id
    for upgraded in (group_of(broker), reloaded(broker)):
        assert isinstance(upgraded, ConsumerGroup)
        assert len(upgraded.members) == MEMBERS + 1
        for number in range(MEMBERS):
            member = upgraded.members.require(f"m{number}")
            assert member.assigned == {topic_id: {number: 5}}
            assert upgraded.targets[f"m{number}"] == {topic_id: frozenset({number})}

    leaving = ask(broker, beat(-1))
    assert turns_until_answered(broker, leaving) > 20
    assert leaving.response.error_code == 0
    broker.scheduler.settle()
    assert group_of(broker).state is State.PREPARING_REBALANCE
    for downgraded in (group_of(broker), reloaded(broker)):
        assert isinstance(downgraded, ClassicGroup)
        assert downgraded.subscribed_topics == frozenset({"t"})
        assert {one.member_id: one.assignment for one in downgraded.members} == {
            f"m{number}": assignment(number) for number in range(MEMBERS)
        }


def test_the_sessions_of_all_members_go_on_after_both_changes(broker: Broker) -> None:
    classic_group(broker)
    for request in (beat(0), beat(-1)):
        turns_until_answered(broker, ask(broker, request))
        broker.scheduler.settle()
    (shard,) = broker.groups.coordinators
    running = set(shard._timers._due)
    group = group_of(broker)
    assert {group.session_timer_name(f"m{number}") for number in range(MEMBERS)} <= running
    assert not any(name.startswith("consumer-session") for name in running)


def test_a_member_that_says_nonsense_keeps_the_group_as_it_is(broker: Broker) -> None:
    classic_group(broker)
    list(group_of(broker).members)[-1].assignment = b"\0"
    joining = ask(broker, beat(0))
    turns_until_answered(broker, joining)
    assert "malformed" in joining.response.error_message
    assert isinstance(group_of(broker), ClassicGroup)
