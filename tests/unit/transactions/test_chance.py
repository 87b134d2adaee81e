"""Random schedules: whatever is lost, late or restarted, transactions stay whole.

A failure names its seed: `HEADRACE_SEEDS=<seed> make sim` plays it again.
"""

from __future__ import annotations

import pytest

from headrace.transactions.states import AT_REST
from tests.support.seeds import block_name, playing, seed_blocks
from tests.unit.transactions.world import PARTITIONS, World

SEEDS = 600
STEPS = 120


def run(seed: int) -> World:
    world = World(seed)
    for _ in range(STEPS):
        world.step()
    world.settle()
    return world


@pytest.mark.parametrize("seeds", seed_blocks(SEEDS, 100), ids=block_name)
def test_readers_see_all_of_a_transaction_or_nothing(seeds: range) -> None:
    for seed in seeds:
        with playing(seed):
            world = run(seed)
            seen = {at: set(world.parts[at].visible()) for at in PARTITIONS}
            for producer in world.producers:
                for txn in producer.transactions:
                    visible = [value in seen[at] for at, value in txn.written]
                    assert all(visible) or not any(visible), f"torn {txn}"
                    if txn.end == "committed":
                        assert all(visible), f"lost {txn}"
                    if txn.end in ("aborted", "open"):
                        assert not any(visible), f"aborted read {txn}"


@pytest.mark.parametrize("seeds", seed_blocks(100, 100), ids=block_name)
def test_nothing_is_seen_twice_or_under_another_transaction(seeds: range) -> None:
    for seed in seeds:
        with playing(seed):
            world = run(seed)
            ends = {txn.name: txn for p in world.producers for txn in p.transactions}
            for at in PARTITIONS:
                values = world.parts[at].visible()
                assert len(values) == len(set(values))
                for value in values:
                    assert ends[value.partition("#")[0]].end in ("committed", "unknown")


@pytest.mark.parametrize("seeds", seed_blocks(100, 100), ids=block_name)
def test_nothing_stays_open_or_half_ended(seeds: range) -> None:
    for seed in seeds:
        with playing(seed):
            for transaction in run(seed).runner.coordinator:
                assert transaction.state in AT_REST, transaction
                assert transaction.partitions == frozenset()


@pytest.mark.parametrize("seeds", seed_blocks(50, 50), ids=block_name)
def test_a_restart_at_the_end_changes_nothing(seeds: range) -> None:
    for seed in seeds:
        with playing(seed):
            world = run(seed)
            before = {
                one.transactional_id: (one.state, one.identity) for one in world.runner.coordinator
            }
            world.runner.restart()
            after = {
                one.transactional_id: (one.state, one.identity) for one in world.runner.coordinator
            }
            assert before == after


def test_enough_happens_for_all_this_to_mean_something() -> None:
    ends: dict[str, int] = {}
    for seed in range(100):
        for producer in run(seed).producers:
            for txn in producer.transactions:
                if txn.written:
                    ends[txn.end] = ends.get(txn.end, 0) + 1
    assert ends["committed"] > 150
    assert ends["aborted"] > 50
    assert ends["unknown"] > 50
