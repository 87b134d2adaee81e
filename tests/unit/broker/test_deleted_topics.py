"""The offsets of a deleted topic go with it, in steps if there are many groups to look through."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.base.outcome import Outcome
from headrace.groups.coordinator import GroupCoordinator
from headrace.groups.offset_store import OffsetStore
from headrace.groups.records import OffsetCommitKey, OffsetCommitValue
from headrace.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tests.unit.broker.harness import Broker
from tests.unit.broker.one_coordinator import ask, coordinator, one_coordinator
from tests.unit.broker.test_offset_fetch import commit

GROUPS = 20_000


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with one_coordinator(tmp_path, t=1, u=1) as running:
        yield running


def offsets(broker: Broker) -> OffsetStore:
    found: GroupCoordinator = coordinator(broker)
    return found.offsets.store


def delete(broker: Broker, topic: str) -> None:
    """Nothing after it has its turn."""
    exchange = ask(broker, DeleteTopicsRequest(topics=[DeleteTopicState(name=topic)]))
    assert exchange.response.responses[0].error_code == 0


def test_many_groups_are_looked_through_in_many_turns(broker: Broker) -> None:
    for number in range(GROUPS):
        commit(broker, f"g{number}", "t" if number % 100 == 0 else "u", 1)
    delete(broker, "t")
    assert offsets(broker).count == GROUPS
    turns = 0
    while offsets(broker).count > GROUPS * 99 // 100:
        broker.scheduler.turn()
        turns += 1
        assert turns < 100
    assert turns > 5
    assert offsets(broker).get("g0", "t", 0) is None
    assert offsets(broker).get("g1", "u", 0) is not None


def test_what_comes_meanwhile_waits_and_is_kept(broker: Broker) -> None:
    for number in range(1_000):
        commit(broker, f"g{number}", "t", 1)
    delete(broker, "t")
    broker.create_topic("t", 1)
    (shard,) = broker.groups.coordinators
    again = OffsetCommitKey(group="g7", topic="t", partition=0)
    shard.post(lambda _: _written(again))
    broker.scheduler.settle()
    assert offsets(broker).count == 1
    found = offsets(broker).get("g7", "t", 0)
    assert found is not None
    assert found.offset == 5


def _written(key: OffsetCommitKey) -> Outcome[Any, Any]:
    return Outcome(records=[(key, OffsetCommitValue(offset=5))])


def test_offsets_of_open_transactions_go_too_and_those_of_another_topic_stay(
    broker: Broker,
) -> None:
    commit(broker, "g", "t", 1)
    commit(broker, "g", "u", 1)
    apply = coordinator(broker).apply
    for group in ("g", "h"):
        place = OffsetCommitKey(group=group, topic="t", partition=0)
        apply(place, OffsetCommitValue(offset=9), 7)
    older = OffsetCommitKey(group="old", topic="t", partition=0)
    apply(older, OffsetCommitValue(offset=9, topic_id=b"o" * 16), -1)
    delete(broker, "t")
    broker.scheduler.settle()
    assert not offsets(broker).is_pending("g", "t", 0)
    assert not offsets(broker).is_pending("h", "t", 0)
    assert offsets(broker).get("g", "t", 0) is None
    assert offsets(broker).get("g", "u", 0) is not None
    assert offsets(broker).get("old", "t", 0) is not None
