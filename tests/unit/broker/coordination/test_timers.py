"""Timers that are due already: a way to go on when others had their turn."""

from __future__ import annotations

from headrace.base.clock import ManualClock
from headrace.broker.coordination.timers import Timers
from headrace.broker.coordination.turns import Turns
from tests.unit.broker.fakes import FakeScheduler


class Shards:
    """The timers of several shards that share their turns."""

    def __init__(self, count: int) -> None:
        self.clock = ManualClock()
        self.scheduler = FakeScheduler(self.clock)
        turns = Turns(self.scheduler.call_soon)
        self.expired: list[str] = []
        self.timers = [
            Timers(self.scheduler, self.clock, self.expired.append, turns.add) for _ in range(count)
        ]


def test_what_is_due_at_once_in_many_shards_takes_turns() -> None:
    shards = Shards(3)
    for number, timers in enumerate(shards.timers):
        timers.set(f"t{number}", shards.clock.wall_ms())
    assert shards.expired == []
    for turn in range(3):
        shards.scheduler.turn()
        assert shards.expired == [f"t{number}" for number in range(turn + 1)]


def test_what_is_due_at_once_can_still_be_called_off_or_put_off() -> None:
    shards = Shards(1)
    (timers,) = shards.timers
    now_ms = shards.clock.wall_ms()
    for name in ("cancelled", "later", "now"):
        timers.set(name, now_ms)
    timers.cancel("cancelled")
    timers.set("later", now_ms + 5)
    shards.scheduler.settle()
    assert shards.expired == ["now"]
    shards.clock.advance(5)
    shards.scheduler.fire_due()
    assert shards.expired == ["now", "later"]


def test_nothing_is_due_any_more_when_a_shard_is_closed() -> None:
    shards = Shards(1)
    shards.timers[0].set("t", shards.clock.wall_ms())
    shards.timers[0].close()
    shards.scheduler.settle()
    assert shards.expired == []
