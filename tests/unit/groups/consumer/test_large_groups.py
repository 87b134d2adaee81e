"""Groups that are too large to be assigned within one heartbeat."""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.groups.consumer.config import Bounded, ConsumerGroupConfig
from headrace.groups.records import (
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMetadataKey,
)
from headrace.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.unit.groups.consumer.world import World

#: Everything counts as large, and two records are a portion.
SMALL_STEPS = ConsumerGroupConfig(
    assignment_interval_ms=Bounded(0, 0, 15_000), assigned_at_once_max=0, records_at_once_max=2
)


def beat(world: World, member_id: str, epoch: int) -> None:
    answer = world.ask(
        ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id=member_id,
            member_epoch=epoch,
            rebalance_timeout_ms=60_000,
            subscribed_topic_names=["t"],
            topic_partitions=[],
        )
    )
    assert not isinstance(answer, KafkaError), answer


def full_world(members: int) -> World:
    world = World(SMALL_STEPS)
    world.topic("t", members)
    for number in range(members):
        beat(world, f"m{number}", 0)
    return world


def test_the_target_comes_after_the_heartbeat_in_portions_with_its_epoch_last() -> None:
    world = full_world(7)
    assert world.group().targets == {}
    portions = []
    for _ in world.wait(0):
        keys = [type(key) for key, _ in world.written]
        if keys:
            portions.append(keys)
        if keys == [ConsumerGroupTargetAssignmentMetadataKey]:
            break
        assert world.group().state_name == "Assigning"
    target = ConsumerGroupTargetAssignmentMemberKey
    assert portions == [[target] * 2] * 3 + [[target], [ConsumerGroupTargetAssignmentMetadataKey]]
    assert world.group().assignment_epoch == world.group().group_epoch
    assert len(world.group().targets) == 7


def test_members_that_leave_or_come_meanwhile_are_served_by_the_next_target() -> None:
    world = full_world(4)
    steps = world.wait(0)
    next(steps)
    beat(world, "m1", -1)
    beat(world, "late", 0)
    for _ in steps:
        pass
    group = world.group()
    assert "m1" not in group.targets
    assert "late" not in group.targets
    assert group.state_name == "Assigning"
    beat(world, "late", group.members.require("late").member_epoch)
    world.pass_ms(0)
    assert group.assignment_epoch == group.group_epoch
    assert set(group.targets) == {"m0", "m2", "m3", "late"}
    assert sorted(len(target) for target in group.targets.values()) == [1, 1, 1, 1]


def test_a_group_that_is_gone_is_not_assigned() -> None:
    world = full_world(1)
    steps = world.wait(0)
    next(steps)
    beat(world, "m0", -1)
    world.coordinator.groups.remove("g")
    for _ in steps:
        assert world.written == []


def test_a_portion_that_cannot_be_written_makes_the_target_anew() -> None:
    world = full_world(4)
    world.failure = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    world.pass_ms(0)
    assert world.group().assignment_epoch < world.group().group_epoch
    beat(world, "m0", world.group().members.require("m0").member_epoch)
    world.pass_ms(0)
    assert world.group().assignment_epoch == world.group().group_epoch


def test_ten_thousand_members_join_and_none_of_them_takes_long() -> None:
    """A step that looked at all members with each heartbeat would take minutes."""
    world = World(ConsumerGroupConfig())
    world.topic("t", 10_000)
    for number in range(10_000):
        world.now_ms += 1
        beat(world, f"m{number}", 0)
    world.now_ms += 1_000
    beat(world, "m0", world.group().members.require("m0").member_epoch)
    largest = 0
    for _ in world.wait(0):
        largest = max(largest, len(world.written))
    assert largest <= ConsumerGroupConfig().records_at_once_max
    assert len(world.group().targets) == 10_000
    assert all(len(target) == 1 for target in world.group().targets.values())
