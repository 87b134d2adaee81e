"""A coordinator answers when it has read its log, and not before."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import EndTransaction, Outcome
from headrace.broker.coordination.loading import Loader
from headrace.broker.coordination.shard import Shard, ShardState
from tests.unit.broker.coordination.conftest import TOPIC, load
from tests.unit.broker.coordination.toy import ToyCodec, ToyCoordinator
from tests.unit.broker.harness import Broker


def write(shard: Shard, *records: tuple[str, str | None], producer: int | None = None) -> None:
    owner = None if producer is None else (producer, 0)
    shard.post(lambda now_ms: Outcome(records=list(records), producer=owner))


def end(shard: Shard, producer: int, committed: bool) -> None:
    shard.end_transaction(producer, 0, EndTransaction(committed, 0), lambda reply: None)


def test_the_last_record_of_a_key_counts(broker: Broker, shard: Shard) -> None:
    write(shard, ("a", "1"), ("b", "1"))
    write(shard, ("a", "2"), ("b", None), ("c", "3"))
    again = load(broker)
    assert again.coordinator.state == {"a": "2", "c": "3"}
    assert again.coordinator.diary == ["a=2", "b=None", "c=3", "loaded"]


def test_keys_are_applied_in_the_order_of_their_last_records(broker: Broker, shard: Shard) -> None:
    write(shard, ("offset", "1"), ("group", "1"))
    write(shard, ("group", None), ("offset", None))
    write(shard, ("offset", "2"))
    again = load(broker)
    assert again.coordinator.diary == ["group=None", "offset=2", "loaded"]


def test_transactions_are_replayed_as_they_were(broker: Broker, shard: Shard) -> None:
    write(shard, ("a", "1"))
    write(shard, ("a", "2"), producer=7)
    write(shard, ("a", "3"))
    write(shard, ("a", "4"), producer=8)
    end(shard, 8, committed=False)
    end(shard, 7, committed=True)
    write(shard, ("a", "5"))
    again = load(broker)
    assert again.coordinator.diary == [
        "a=1",
        "a=2 of 7",
        "a=3",
        "a=4 of 8",
        "8 aborts",
        "7 commits",
        "a=5",
        "loaded",
    ]


def test_kinds_of_records_that_nobody_knows_are_passed_over(broker: Broker, shard: Shard) -> None:
    write(shard, ("?new", "1"), ("a", "1"))
    assert load(broker).coordinator.state == {"a": "1"}


def test_others_have_their_turn_while_a_long_log_is_read(broker: Broker, shard: Shard) -> None:
    for start in range(0, 6_000, 500):
        write(shard, *((f"key-{start + n}", "v" * 200) for n in range(500)))
    partition = broker.partition(TOPIC)
    again = Shard(ToyCoordinator(), ToyCodec(), partition, broker.scheduler, broker.clock)
    steps: list[Any] = []
    Loader(again, steps.append).start()
    count = 0
    while steps:
        assert again.state is ShardState.LOADING
        steps.pop(0)()
        count += 1
    assert again.state is ShardState.ACTIVE
    assert len(again.coordinator.state) == 6_000
    assert count > 6


def test_a_transaction_behind_many_records_is_replayed_in_order_and_in_steps(
    broker: Broker, shard: Shard
) -> None:
    for start in range(0, 3_000, 500):
        write(shard, *((f"key-{start + n}", "before") for n in range(500)))
    write(shard, ("key-7", "inside"), producer=7)
    write(shard, ("key-8", "after"))
    end(shard, 7, committed=True)
    again = Shard(
        ToyCoordinator(), ToyCodec(), broker.partition(TOPIC), broker.scheduler, broker.clock
    )
    steps: list[Any] = []
    Loader(again, steps.append).start()
    count = 0
    while steps:
        steps.pop(0)()
        count += 1
    assert count > 6
    assert again.coordinator.diary[:3_000] == [f"key-{n}=before" for n in range(3_000)]
    assert again.coordinator.diary[3_000:] == [
        "key-7=inside of 7",
        "key-8=after",
        "7 commits",
        "loaded",
    ]


def test_nobody_is_served_before_the_end_and_what_comes_meanwhile_waits(
    broker: Broker, shard: Shard
) -> None:
    partition = broker.partition(TOPIC)
    again = Shard(ToyCoordinator(), ToyCodec(), partition, broker.scheduler, broker.clock)
    with pytest.raises(KafkaError) as refused:
        again.submit(lambda token, now_ms: Outcome(), lambda reply: None)
    assert refused.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    def news(now_ms: int) -> Outcome[Any, Any]:
        again.coordinator.diary.append("news")
        return Outcome()

    again.post(news)
    again.activate()
    assert again.coordinator.diary == ["loaded", "news"]


def test_a_log_that_cannot_be_read_has_no_coordinator(broker: Broker, shard: Shard) -> None:
    write(shard, ("a", "1"))
    log = broker.partition(TOPIC).log
    path = f"{log.directory}/{0:020d}.log"
    with open(path, "r+b") as file:
        file.seek(64)
        file.write(b"\xff\xff")
    again = load(broker)
    assert again.state is ShardState.CLOSED


def test_loading_ends_when_somebody_else_takes_over(broker: Broker, shard: Shard) -> None:
    write(shard, ("a", "1"))
    partition = broker.partition(TOPIC)
    again = Shard(ToyCoordinator(), ToyCodec(), partition, broker.scheduler, broker.clock)
    steps: list[Any] = []
    Loader(again, steps.append).start()
    again.close()
    while steps:
        steps.pop(0)()
    assert again.state is ShardState.CLOSED
    assert again.coordinator.diary == []
