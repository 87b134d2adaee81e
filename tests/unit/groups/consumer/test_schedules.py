"""Random schedules: whatever happens, no partition has two owners, and all comes to rest.

A failure prints its seed; `test_no_schedule_breaks_the_rules[seed]` plays it again.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.groups.consumer.config import Bounded, ConsumerGroupConfig
from headrace.groups.consumer.group import ConsumerGroup
from tests.unit.groups.consumer.clients import Client, Owned, owned_in
from tests.unit.groups.consumer.world import World

SEEDS = 500
STEPS = 60


class Schedule:
    """One run: clients, faults and changes drawn from a seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        interval_ms = self.chance.choice([0, 1_000])
        self.world = World(
            ConsumerGroupConfig(
                assignment_interval_ms=Bounded(interval_ms, 0, 15_000),
                # Half of the runs treat every group as a large one, one record at a time.
                assigned_at_once_max=self.chance.choice([0, 4_000]),
                records_at_once_max=1,
                converted_at_once_max=self.chance.choice([0, 200]),
            )
        )
        self.ids = 0
        self.clients: list[Client] = []
        for name in ("t", "u"):
            self.world.topic(name, self.chance.randint(1, 6))
        self.actions: list[tuple[int, Callable[[], None]]] = [
            (30, self.beat),
            (20, self.move),
            (5, self.join),
            (3, self.leave),
            (3, self.vanish),
            (3, self.leave_for_a_while),
            (4, self.resubscribe),
            (3, self.change_topics),
            (6, self.pass_time),
            (2, self.restart),
            (2, self.fail_a_write),
        ]

    def run(self) -> None:
        weights = [weight for weight, _ in self.actions]
        for _ in range(STEPS):
            (chosen,) = self.chance.choices(self.actions, weights)
            chosen[1]()
            self.check()

    # What happens

    def any_client(self) -> Client | None:
        return self.chance.choice(self.clients) if self.clients else None

    def beat(self) -> None:
        client = self.any_client()
        if client is not None:
            client.beat(self.world, lose_answer=self.chance.random() < 0.1)

    def move(self) -> None:
        client = self.any_client()
        if client is not None:
            self.chance.choice([client.give_up, client.take_up])()

    def join(self) -> None:
        if len(self.clients) < 6:
            self.ids += 1
            instance = f"i{self.ids}" if self.chance.random() < 0.3 else None
            client = Client(f"m{self.ids}", instance)
            client.assignor = self.chance.choice([None, None, "uniform", "range"])
            self.draw_subscription(client)
            self.clients.append(client)
            client.beat(self.world)

    def draw_subscription(self, client: Client) -> None:
        topics, regex = self.chance.choice(
            [(["t"], None), (["t", "u"], None), ([], ".*"), ([], "t.*"), (["u"], "t.*"), ([], "")]
        )
        client.subscribe(topics, regex)

    def leave(self) -> None:
        client = self.any_client()
        if client is not None:
            self.clients.remove(client)
            client.leave(self.world)

    def vanish(self) -> None:
        """A client dies without a word; it reads nothing any more."""
        client = self.any_client()
        if client is not None:
            self.clients.remove(client)

    def leave_for_a_while(self) -> None:
        client = self.any_client()
        if client is None or client.instance_id is None:
            return
        self.clients.remove(client)
        client.leave(self.world, for_a_while=True)
        if self.chance.random() < 0.7:
            self.ids += 1
            again = Client(f"m{self.ids}", client.instance_id)
            again.subscribe(client.topics, client.regex)
            self.clients.append(again)

    def resubscribe(self) -> None:
        client = self.any_client()
        if client is not None:
            self.draw_subscription(client)

    def change_topics(self) -> None:
        name = self.chance.choice(["t", "u", "t2"])
        view = self.world.topics.named(name)
        if view is None:
            self.world.topic(name, self.chance.randint(1, 4), f"{name}{self.world.topics.version}")
        elif self.chance.random() < 0.5:
            topic_id = view.topic_id.decode().rstrip("-")
            self.world.topic(name, view.partition_count + self.chance.randint(1, 3), topic_id)
        else:
            self.world.delete_topic(name)

    def pass_time(self) -> None:
        self.world.pass_ms(self.chance.choice([0, 500, 2_000, 11_000, 46_000]))

    def restart(self) -> None:
        self.world.restart()

    def fail_a_write(self) -> None:
        self.world.failure = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    # What must be true all the time

    def check(self) -> None:
        group = self.world.coordinator.groups.get("g")
        if group is None:
            return
        assert isinstance(group, ConsumerGroup)
        seen: dict[tuple[bytes, int], str] = {}
        for member in group.members:
            has = owned_in(member.assigned) | owned_in(member.pending_revocation)
            for place in has:
                assert place not in seen, f"{place} of {member.member_id} and {seen[place]}"
                assert group.members.owner(*place) == member.member_id
                seen[place] = member.member_id
            assert member.member_epoch <= group.assignment_epoch <= group.group_epoch
        for client in self.clients:
            known = group.members.get(client.member_id)
            if client.is_in and known is not None and known.member_epoch >= client.epoch > 0:
                has = owned_in(known.assigned) | owned_in(known.pending_revocation)
                assert client.owned <= has, f"{client.member_id} reads what is not its own"

    # And in the end

    def settle(self) -> None:
        self.world.failure = None
        self.world.pass_ms(46_000)
        for _ in range(30):
            for client in self.clients:
                client.give_up()
                client.take_up()
                client.beat(self.world)
            self.world.pass_ms(2_000)
            self.check()

    def check_settled(self) -> None:
        if not self.clients:
            return
        group = self.world.group()
        assert group.state_name == "Stable"
        owned: list[tuple[bytes, int]] = []
        wanted: Owned = frozenset()
        for client in self.clients:
            member = group.members.require(client.member_id)
            assert client.owned == owned_in(member.assigned) == owned_in(group.target_of(member))
            owned += client.owned
            views = map(self.world.topics.named, group.members.subscriptions.topics_of(member))
            wanted |= {
                (view.topic_id, partition)
                for view in views
                if view is not None
                for partition in range(view.partition_count)
            }
        assert sorted(owned) == sorted(wanted), "every partition has exactly one owner"


@pytest.mark.parametrize("first", range(0, SEEDS, 50))
def test_no_schedule_breaks_the_rules(first: int) -> None:
    for seed in range(first, first + 50):
        schedule = Schedule(seed)
        try:
            schedule.run()
            schedule.settle()
            schedule.check_settled()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
