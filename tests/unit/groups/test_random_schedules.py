"""Random schedules of members, failures and restarts; the rules of a group always hold.

A failure names its seed: `run(seed)` plays it again.
"""

from __future__ import annotations

import random

import pytest

from headrace.groups.classic.group import ClassicGroup
from headrace.groups.classic.states import State
from headrace.groups.config import GroupConfig
from tests.unit.groups.random_members import GROUP, PARTITIONS, RandomMember, Referee
from tests.unit.groups.world import World

SEEDS = 600
_STEPS = 150


class Run:
    """One schedule."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.is_rough = True
        delay_ms = self.chance.choice((0, 0, 500, 3_000))
        config = GroupConfig(
            initial_rebalance_delay_ms=delay_ms,
            members_max=self.chance.choice((3, 100)),
            offsets_retention_check_interval_ms=60_000,
        )
        self.world = World(config, self._write_fails)
        self.referee = Referee()
        self.world.watchers.append(self.referee.stored)
        self.members = [
            RandomMember(f"m{n}", self.world, self.chance, self.referee, self.chance.random() < 0.3)
            for n in range(self.chance.randint(1, 5))
        ]

    def _write_fails(self) -> bool:
        return self.is_rough and self.chance.random() < 0.05

    def rough(self) -> None:
        for _ in range(_STEPS):
            draw = self.chance.random()
            member = self.chance.choice(self.members)
            if draw < 0.02:
                self.world.restart()
            elif draw < 0.05:
                member.crash()
            elif draw < 0.08 and member.is_alive and member.member_id:
                member.leave()
            elif draw < 0.2:
                member.come_back()
            else:
                member.step()
            self._check_offsets()
            self.world.advance_to(self.world.now_ms + self.chance.choice((0, 1, 100, 1_000)))

    def calm(self) -> None:
        """No more trouble: everybody who lives is in before long, and everything has an owner."""
        self.is_rough = False
        for member in self.members:
            member.come_back()
            member.is_rough = False
        for _ in range(200):
            for member in self.members:
                member.step()
            self.world.advance_to(self.world.now_ms + 200)

    def check_calm(self) -> None:
        group = self.world.coordinator.groups.get(GROUP)
        assert isinstance(group, ClassicGroup)
        assert group.state is State.STABLE
        room = self.world.config.members_max
        assert len(group.members) == min(len(self.members), room)
        held = sorted(index for m in self.members for index in m.partitions or ())
        assert held == list(range(PARTITIONS))

    def _check_offsets(self) -> None:
        """What was accepted is what is stored."""
        stored = self.world.coordinator.offsets.store.of_group(GROUP).get("t", {})
        assert {index: one.offset for index, one in stored.items()} == self.referee.committed


def run(seed: int) -> None:
    story = Run(seed)
    story.rough()
    story.calm()
    story.check_calm()


@pytest.mark.parametrize("first", range(0, SEEDS, 50))
def test_the_rules_hold(first: int) -> None:
    for seed in range(first, first + 50):
        try:
            run(seed)
        except Exception as failure:
            raise AssertionError(f"seed {seed}") from failure
