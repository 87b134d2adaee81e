"""Random schedules: whatever happens, no partition has two owners, and all comes to rest.

Consumers of both protocols come and go, so the group changes its own again and again.

A failure names its seed: `HEADRACE_SEEDS=<seed> make sim` plays it again.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.groups.consumer.config import Bounded, ConsumerGroupConfig
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.group import GroupType
from tests.support.seeds import block_name, playing, seed_blocks
from tests.unit.groups.consumer.classic_clients import ClassicClient
from tests.unit.groups.consumer.clients import Client, Owned, owned_in
from tests.unit.groups.consumer.commits import Reading, Stored
from tests.unit.groups.consumer.owners import Owners
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
        self.clients: list[Client | ClassicClient] = []
        #: Of clients that are gone, but not all that they have sent.
        self.gone: list[Reading] = []
        self.stored = Stored()
        self.owners = Owners()
        self.has_eager_clients = self.chance.random() < 0.5
        for name in ("t", "u"):
            self.world.topic(name, self.chance.randint(1, 6))
        self.actions: list[tuple[int, Callable[[], None]]] = [
            (30, self.beat),
            (20, self.move),
            (10, self.commit),
            (8, self.let_a_commit_arrive),
            (5, self.join),
            (4, self.join_classic),
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

    @property
    def readings(self) -> list[Reading]:
        return [*self.gone, *(client.reading for client in self.clients)]

    def any_client(self) -> Client | ClassicClient | None:
        return self.chance.choice(self.clients) if self.clients else None

    def beat(self) -> None:
        client = self.any_client()
        if client is not None:
            client.beat(self.world, lose_answer=self.chance.random() < 0.1)

    def move(self) -> None:
        client = self.any_client()
        if client is not None:
            self.chance.choice([client.give_up, client.take_up])()

    def commit(self) -> None:
        client = self.any_client()
        if client is not None:
            client.reading.commit(self.world, self.chance, client)

    def let_a_commit_arrive(self) -> None:
        """Of somebody who is still there, or of somebody who is not."""
        sent = [one for one in self.readings if one.under_way]
        if sent:
            self.chance.choice(sent).arrive(self.world)

    def join(self) -> None:
        if len(self.clients) < 6:
            self.ids += 1
            instance = f"i{self.ids}" if self.chance.random() < 0.3 else None
            client = Client(f"m{self.ids}", instance)
            client.assignor = self.chance.choice([None, None, "uniform", "range"])
            self.draw_subscription(client)
            self.clients.append(client)
            client.beat(self.world)

    def join_classic(self, instance_id: str | None = None) -> None:
        if len(self.clients) < 6:
            self.ids += 1
            if instance_id is None and self.chance.random() < 0.3:
                instance_id = f"i{self.ids}"
            client = ClassicClient(f"c{self.ids}", instance_id, is_eager=self.has_eager_clients)
            self.draw_subscription(client)
            self.clients.append(client)
            client.beat(self.world)

    def draw_subscription(self, client: Client | ClassicClient) -> None:
        if isinstance(client, ClassicClient):
            client.subscribe(self.chance.choice([["t"], ["u"], ["t", "u"]]))
            return
        topics, regex = self.chance.choice(
            [(["t"], None), (["t", "u"], None), ([], ".*"), ([], "t.*"), (["u"], "t.*"), ([], "")]
        )
        client.subscribe(topics, regex)

    def leave(self) -> None:
        client = self.any_client()
        if client is not None:
            self.remove(client)
            client.leave(self.world)

    def remove(self, client: Client | ClassicClient) -> None:
        self.clients.remove(client)
        self.gone.append(client.reading)

    def vanish(self) -> None:
        """A client dies without a word; it reads nothing any more."""
        client = self.any_client()
        if client is not None:
            self.remove(client)

    def leave_for_a_while(self) -> None:
        client = self.any_client()
        if client is None or client.instance_id is None:
            return
        self.remove(client)
        if isinstance(client, Client):
            client.leave(self.world, for_a_while=True)
        draw = self.chance.random()
        if draw < 0.3:
            self.join_classic(client.instance_id)
        elif draw < 0.8:
            self.ids += 1
            again = Client(f"m{self.ids}", client.instance_id)
            self.draw_subscription(again)
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
            for reading in self.readings:
                reading.forget_topic(name)
        for client in self.clients:
            if isinstance(client, ClassicClient):
                # Such clients look at the topics themselves.
                client.must_join = True

    def pass_time(self) -> None:
        self.world.pass_ms(self.chance.choice([0, 500, 2_000, 11_000, 46_000]))

    def restart(self) -> None:
        self.world.restart()
        for client in self.clients:
            if isinstance(client, ClassicClient):
                client.disconnected()

    def fail_a_write(self) -> None:
        self.world.failure = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    # What must be true all the time

    def check(self) -> None:
        group = self.world.coordinator.groups.get("g")
        self.stored.check(self.world)
        self.owners.check(group, self.world.topics)
        if isinstance(group, ConsumerGroup):
            self.check_members(group)
        for client in self.clients:
            client.reading.follow(self.world, client.owned)

    def check_members(self, group: ConsumerGroup) -> None:
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
            if known is None or not _is_told(client, known.member_epoch):
                continue
            has = owned_in(known.assigned) | owned_in(known.pending_revocation)
            reads = client.owned
            if isinstance(client, ClassicClient):
                # Members that joined by topic names have nothing of a topic that is gone.
                reads = frozenset(one for one in reads if self.world.topics.identified(one[0]))
            assert reads <= has, f"{client.member_id} reads what is not its own"

    # And in the end

    def settle(self) -> None:
        self.world.failure = None
        self.world.pass_ms(46_000)
        self.check()
        for _ in range(30):
            for client in self.clients:
                client.reading.commit(self.world, self.chance, client)
                client.reading.arrive_all(self.world)
                client.give_up()
                client.take_up()
                client.beat(self.world)
            self.world.pass_ms(2_000)
            self.check()

    def check_settled(self) -> None:
        if not self.clients:
            return
        group = self.world.coordinator.groups.get("g")
        assert group is not None
        assert group.state_name == "Stable"
        is_new = any(isinstance(client, Client) for client in self.clients)
        assert group.type is (GroupType.CONSUMER if is_new else GroupType.CLASSIC)
        owned: list[tuple[bytes, int]] = []
        wanted: Owned = frozenset()
        for client in self.clients:
            names = client.topics
            if isinstance(group, ConsumerGroup):
                member = group.members.require(client.member_id)
                assert client.owned == owned_in(member.assigned)
                assert client.owned == owned_in(group.target_of(member))
                names = sorted(group.members.subscriptions.topics_of(member))
            owned += client.owned
            wanted |= {
                (view.topic_id, partition)
                for view in map(self.world.topics.named, names)
                if view is not None
                for partition in range(view.partition_count)
            }
        assert sorted(owned) == sorted(wanted), "every partition has exactly one owner"


def _is_told(client: Client | ClassicClient, member_epoch: int) -> bool:
    """Whether what the client owns comes from the membership that the group knows."""
    if isinstance(client, ClassicClient):
        # A rebalance may have taken from it what it will only hear of when it joins again, and
        # after a group has begun anew, its epoch may be one of the group before.
        return client.epoch == member_epoch and not (client.must_join or client.waits)
    return client.is_in and member_epoch >= client.epoch > 0


@pytest.mark.parametrize("seeds", seed_blocks(SEEDS, 50), ids=block_name)
def test_no_schedule_breaks_the_rules(seeds: range) -> None:
    upgrades = downgrades = 0
    for seed in seeds:
        with playing(seed):
            schedule = Schedule(seed)
            schedule.run()
            schedule.settle()
            schedule.check_settled()
        upgrades += schedule.owners.upgrades
        downgrades += schedule.owners.downgrades
    if seeds == range(50):
        # Or the schedules would not show what they are for.
        assert upgrades > 5
        assert downgrades > 5
