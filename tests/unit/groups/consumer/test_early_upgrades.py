"""Groups that become consumer groups in the middle of a rebalance, or had no target before."""

from __future__ import annotations

from typing import Any

from headrace.groups.consumer.config import Bounded, ConsumerGroupConfig
from headrace.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from headrace.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tests.unit.groups.consumer.classic_clients import ClassicClient
from tests.unit.groups.consumer.clients import Client, owned_in
from tests.unit.groups.consumer.world import World


def world_with_topic(**settings: Any) -> World:
    config = ConsumerGroupConfig(assignment_interval_ms=Bounded(0, 0, 15_000), **settings)
    world = World(config)
    world.topic("t", 2)
    return world


def classic_client(name: str) -> ClassicClient:
    client = ClassicClient(name, None, is_eager=True)
    client.subscribe(["t"])
    return client


def consumer(member_id: str, topics: list[str]) -> Client:
    client = Client(member_id)
    client.subscribe(topics, None)
    return client


def settle(world: World, *clients: Client | ClassicClient) -> None:
    for _ in range(8):
        for client in clients:
            client.give_up()
            client.take_up()
            client.beat(world)
        world.pass_ms(0)


def test_a_group_without_a_generation_is_assigned_although_nobody_new_reads_anything() -> None:
    world = world_with_topic()
    waiting = classic_client("waits")
    waiting.beat(world)  # gets its id
    waiting.beat(world)  # waits for the first rebalance
    idle = consumer("idle", [])
    idle.beat(world)
    assert world.group().group_epoch > 0
    settle(world, idle, waiting)
    member = world.group().members.require(waiting.member_id)
    assert waiting.owned == owned_in(member.assigned)
    assert len(waiting.owned) == 2


def test_who_waited_for_the_rebalance_gets_a_share_although_nobody_new_reads_anything() -> None:
    world = world_with_topic()
    first, waiting = classic_client("first"), classic_client("waits")
    settle(world, first)
    waiting.beat(world)  # gets its id
    waiting.beat(world)  # waits for the others to join again
    idle = consumer("idle", [])
    idle.beat(world)
    settle(world, idle, first, waiting)
    assert len(first.owned) == len(waiting.owned) == 1


def test_a_group_that_only_expects_members_can_become_a_consumer_group() -> None:
    world = world_with_topic()
    first, expected = classic_client("first"), classic_client("expected")
    first.beat(world)  # gets its id
    first.beat(world)  # waits for the first rebalance
    expected.beat(world)  # gets its id, and does not come back with it yet
    identity = MemberIdentity(member_id=first.member_id)
    world.ask(LeaveGroupRequest(group_id="g", members=[identity]), 5)
    newer = consumer("newer", ["t"])
    newer.beat(world)
    settle(world, newer, expected)
    assert len(newer.owned) == len(expected.owned) == 1


def test_a_group_that_began_anew_without_a_target_is_loaded_as_it_was() -> None:
    """The tombstones of the group before it come after its own records when they are loaded."""
    world = world_with_topic(assigned_at_once_max=0)
    settle(world, consumer("old", ["t"]))
    world.ask(ConsumerGroupHeartbeatRequest(group_id="g", member_id="old", member_epoch=-1))
    classic = classic_client("classic")
    settle(world, classic)
    classic.leave(world)
    newer = consumer("newer", ["t"])
    newer.beat(world)
    before = world.group().assignment_epoch
    world.restart()
    assert world.group().assignment_epoch == before
    assert newer.epoch <= before
    settle(world, newer)
    assert len(newer.owned) == 2
