"""Events one at a time, replies after their records, and nothing half done."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import CancelTimer, EndTransaction, Outcome, SetTimer
from headrace.broker.coordination.shard import Shard
from headrace.log.append import AppendResult
from headrace.records.batch import iter_headers
from headrace.replication.partition import Leadership, Partition
from tests.unit.broker.coordination.conftest import TOPIC, load
from tests.unit.broker.harness import Broker


def put(shard: Shard, key: str, value: str | None, replies: list[Any], **more: Any) -> None:
    """An event that stores something and is answered with its key."""
    shard.submit(
        lambda token, now_ms: Outcome(records=[(key, value)], replies=[(token, key)], **more),
        replies.append,
    )


def two_replicas(broker: Broker) -> None:
    """From now on records wait for a follower."""
    broker.partition(TOPIC).lead_or_follow(Leadership(1, 1, (1, 2), (1, 2), 1))


def catch_up(broker: Broker) -> None:
    """The follower has everything."""
    partition = broker.partition(TOPIC)
    partition._replica_ends[2] = partition.log.log_end_offset
    partition.advance_high_watermark()


def test_a_record_is_applied_and_then_answered(shard: Shard) -> None:
    replies: list[Any] = []
    put(shard, "a", "1", replies)
    assert shard.coordinator.state == {"a": "1"}
    assert replies == ["a"]


def test_what_no_record_can_hold_is_refused_and_stops_nobody_else(shard: Shard) -> None:
    replies: list[Any] = []
    put(shard, "\ud800", "1", replies)
    assert [error.code for error in replies] == [ErrorCode.UNKNOWN_SERVER_ERROR]
    put(shard, "a", "1", replies)
    assert replies[1:] == ["a"]
    assert shard.coordinator.state == {"a": "1"}


def test_whoever_waits_hears_nothing_before_the_replicas_have_it(
    broker: Broker, shard: Shard
) -> None:
    two_replicas(broker)
    replies: list[Any] = []
    put(shard, "a", "1", replies)
    put(shard, "b", "2", replies)
    assert replies == []
    assert shard.coordinator.state == {}
    catch_up(broker)
    assert replies == ["a"]  # b was written only now
    assert shard.coordinator.state == {"a": "1"}
    catch_up(broker)
    assert replies == ["a", "b"]


def test_an_event_sees_the_records_of_all_events_before_it(broker: Broker, shard: Shard) -> None:
    two_replicas(broker)
    seen: list[dict[str, str]] = []
    put(shard, "a", "1", [])

    def look(now_ms: int) -> Outcome[Any, Any]:
        seen.append(dict(shard.coordinator.state))
        return Outcome()

    shard.post(look)
    assert seen == []
    catch_up(broker)
    assert seen == [{"a": "1"}]


def test_events_that_come_up_during_an_event_wait_for_their_turn(shard: Shard) -> None:
    order: list[str] = []

    def outer(now_ms: int) -> Outcome[Any, Any]:
        shard.post(inner)
        order.append("outer")
        return Outcome(records=[("a", "1")])

    def inner(now_ms: int) -> Outcome[Any, Any]:
        order.append(f"inner sees {shard.coordinator.state}")
        return Outcome()

    shard.post(outer)
    assert order == ["outer", "inner sees {'a': '1'}"]


def test_a_write_that_fails_is_an_error_for_everybody_in_the_outcome(
    broker: Broker, shard: Shard
) -> None:
    broker.partition(TOPIC).lead_or_follow(Leadership(2, 9, (1, 2), (1, 2), 9))
    replies: list[Any] = []
    put(shard, "a", "1", replies)
    assert [reply.code for reply in replies] == [ErrorCode.NOT_COORDINATOR]
    assert shard.coordinator.state == {}


def test_an_outcome_can_say_what_happens_if_its_write_fails(shard: Shard) -> None:
    replies: list[Any] = []

    def instead(error: KafkaError, now_ms: int) -> Outcome[Any, Any]:
        return Outcome(records=[("small", error.code.name)], replies=[(0, "undone")])

    put(shard, "large", "x" * 2_000_000, replies, if_failed=instead)
    assert replies == ["undone"]
    assert shard.coordinator.state == {"small": "UNKNOWN_SERVER_ERROR"}


def test_records_that_nobody_waits_for_are_missed_aloud(
    broker: Broker, shard: Shard, caplog: pytest.LogCaptureFixture
) -> None:
    shard.post(lambda now_ms: Outcome(records=[("large", "x" * 2_000_000)]))
    (logged,) = caplog.messages
    assert logged.startswith(f"{TOPIC}-0 takes no records of its coordinator: UNKNOWN_SERVER_ERROR")
    put(shard, "large", "x" * 2_000_000, [])
    assert len(caplog.messages) == 1, "whoever waits has been told"


def test_many_records_that_need_not_be_atomic_go_in_several_batches(shard: Shard) -> None:
    records: list[tuple[str, str | None]] = [(f"k{n}", "v" * 10_000) for n in range(300)]
    shard.post(lambda now_ms: Outcome(records=list(records), is_atomic=False))
    assert len(shard.coordinator.state) == 300
    assert shard.partition.log.log_end_offset == 300


def fail_after(writes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk takes so many batches more, fails once, and is well again."""
    append, left = Partition.append, [writes]

    def limited(*arguments: Any) -> AppendResult:
        left[0] -= 1
        if left[0] == -1:
            raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
        return append(*arguments)

    monkeypatch.setattr(Partition, "append", limited)


@pytest.mark.parametrize("count", [300, 3_000])
def test_of_records_that_need_not_be_atomic_those_count_that_were_written(
    broker: Broker, shard: Shard, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    replies: list[Any] = []
    records: list[Any] = [(f"k{n}", "v" * (1_500_000 // count)) for n in range(count)]
    put(shard, "k0", "before", replies)
    fail_after(2, monkeypatch)
    shard.submit(
        lambda token, now_ms: Outcome(
            records=list(records),
            replies=[(token, "all")],
            timers=[SetTimer("never", now_ms)],
            is_atomic=False,
        ),
        replies.append,
    )
    put(shard, "after", "1", replies)
    broker.scheduler.settle()
    broker.advance(1)
    assert replies[1].code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert replies[2:] == ["after"]
    state = shard.coordinator.state
    assert 0 < len(state) - 1 < count
    assert state["k0"] != "before"
    assert load(broker).coordinator.state == state
    assert "never expired" not in shard.coordinator.diary


@pytest.mark.parametrize("count", [300, 3_000])
def test_what_is_done_about_the_rest_comes_after_the_part_that_was_written(
    broker: Broker, shard: Shard, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    two_replicas(broker)
    seen: list[int] = []
    records: list[Any] = [(f"k{n}", "v" * (1_500_000 // count)) for n in range(count)]

    def instead(error: KafkaError, now_ms: int) -> Outcome[Any, Any]:
        seen.append(len(shard.coordinator.state))
        return Outcome()

    fail_after(2, monkeypatch)
    shard.post(lambda now_ms: Outcome(records=list(records), is_atomic=False, if_failed=instead))
    broker.scheduler.settle()
    assert (shard.coordinator.state, seen) == ({}, [])
    catch_up(broker)
    broker.scheduler.settle()
    assert seen == [len(shard.coordinator.state)]
    assert 0 < seen[0] < count
    assert load(broker).coordinator.state == shard.coordinator.state


def test_an_event_that_fails_costs_only_its_sender(shard: Shard) -> None:
    replies: list[Any] = []

    def broken(token: int, now_ms: int) -> Outcome[Any, Any]:
        raise RuntimeError("a bug")

    shard.submit(broken, replies.append)
    put(shard, "a", "1", replies)
    assert replies[0].code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert replies[1] == "a"


def test_nobody_is_answered_twice_or_after_leaving(shard: Shard) -> None:
    replies: list[Any] = []
    token = shard.submit(lambda token, now_ms: Outcome(), replies.append)
    shard.forget(token)
    shard.post(lambda now_ms: Outcome(replies=[(token, "too late")]))
    assert replies == []


def test_a_closed_shard_sends_whoever_waits_elsewhere(shard: Shard) -> None:
    replies: list[Any] = []
    shard.submit(lambda token, now_ms: Outcome(), replies.append)
    shard.post(lambda now_ms: Outcome(timers=[SetTimer("t", now_ms + 10)]))
    shard.close()
    assert [reply.code for reply in replies] == [ErrorCode.NOT_COORDINATOR]
    with pytest.raises(KafkaError) as refused:
        put(shard, "a", "1", replies)
    assert refused.value.code is ErrorCode.NOT_COORDINATOR


def test_a_record_that_is_committed_after_the_shard_closed_does_nothing(
    broker: Broker, shard: Shard
) -> None:
    two_replicas(broker)
    put(shard, "a", "1", [])
    shard.close()
    catch_up(broker)
    assert shard.coordinator.state == {}


def test_timers_are_set_put_off_and_called_off(broker: Broker, shard: Shard) -> None:
    diary = shard.coordinator.diary
    diary.clear()

    def set_timer(name: str, delay_ms: int) -> None:
        shard.post(lambda now_ms: Outcome(timers=[SetTimer(name, now_ms + delay_ms)]))

    set_timer("a", 10)
    set_timer("b", 10)
    set_timer("c", 10)
    broker.advance(5)
    set_timer("a", 10)
    set_timer("b", 2)
    shard.post(lambda now_ms: Outcome(timers=[CancelTimer("c"), CancelTimer("never set")]))
    broker.advance(2)
    assert diary == ["b expired"]
    broker.advance(7)
    assert diary == ["b expired"]
    broker.advance(1)
    assert diary == ["b expired", "a expired"]
    broker.advance(100)
    assert diary == ["b expired", "a expired"]


def test_a_clock_that_jumps_expires_nobody(broker: Broker, shard: Shard) -> None:
    diary = shard.coordinator.diary
    diary.clear()
    shard.post(lambda now_ms: Outcome(timers=[SetTimer("session", now_ms + 100)]))
    broker.clock._wall_ms += 3_600_000
    broker.advance(99)
    assert diary == []
    broker.advance(1)
    assert diary == ["session expired"]


def test_a_transaction_ends_after_the_records_before_it(broker: Broker, shard: Shard) -> None:
    two_replicas(broker)
    diary, replies = shard.coordinator.diary, list[Any]()
    diary.clear()
    put(shard, "a", "1", replies, producer=(7, 0))
    shard.end_transaction(7, 0, EndTransaction(committed=True, coordinator_epoch=3), replies.append)
    assert replies == []
    catch_up(broker)
    catch_up(broker)
    assert diary == ["a=1 of 7", "7 commits"]
    assert replies == ["a", None]
    again = load(broker)
    assert again.coordinator.diary == ["a=1 of 7", "7 commits", "loaded"]


def commit(shard: Shard, key: str, replies: list[Any], size: int = 1) -> None:
    """An event that does not look at what others like it write."""
    shard.submit(
        lambda token, now_ms: Outcome(records=[(key, "v" * size)], replies=[(token, key)]),
        replies.append,
        may_share=True,
    )


def batches(shard: Shard) -> int:
    log = shard.partition.log
    data = log.read(0, 1 << 24, end_offset=log.log_end_offset)
    return sum(1 for _ in iter_headers(data))


def test_events_of_one_turn_that_may_share_a_batch_do(broker: Broker, shard: Shard) -> None:
    replies: list[Any] = []
    for number in range(5):
        commit(shard, f"k{number}", replies)
    assert replies == ["k0"]  # the first one did not know that more would come
    broker.scheduler.settle()
    assert replies == ["k0", "k1", "k2", "k3", "k4"]
    assert batches(shard) == 2
    assert set(shard.coordinator.state) == set(replies)


def test_an_event_that_looks_at_the_state_sees_what_was_gathered(
    broker: Broker, shard: Shard
) -> None:
    replies: list[Any] = []
    for number in range(3):
        commit(shard, f"k{number}", replies)
    put(shard, "last", "x", replies)
    assert replies == ["k0", "k1", "k2", "last"]
    assert len(shard.coordinator.state) == 4


def test_what_is_too_much_together_is_written_apart(broker: Broker, shard: Shard) -> None:
    replies: list[Any] = []
    for number in range(4):
        commit(shard, f"k{number}", replies, size=400_000)
    commit(shard, "never", replies, size=2_000_000)
    broker.scheduler.settle()
    assert replies[:4] == ["k0", "k1", "k2", "k3"]
    assert replies[4].code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert set(shard.coordinator.state) == {"k0", "k1", "k2", "k3"}


def test_what_was_gathered_waits_for_the_replicas_like_everything_else(
    broker: Broker, shard: Shard
) -> None:
    two_replicas(broker)
    replies: list[Any] = []
    for number in range(3):
        commit(shard, f"k{number}", replies)
    broker.scheduler.settle()
    assert replies == []
    catch_up(broker)
    assert replies == ["k0"]
    catch_up(broker)
    assert replies == ["k0", "k1", "k2"]


def test_many_are_answered_in_parts(broker: Broker, shard: Shard) -> None:
    replies: list[Any] = []
    tokens = [shard.submit(lambda token, now_ms: Outcome(), replies.append) for _ in range(1_000)]
    shard.post(lambda now_ms: Outcome(replies=[(token, token) for token in tokens]))
    assert 0 < len(replies) < 1_000
    broker.scheduler.settle()
    assert replies == tokens


# Long work

MANY = 3_000


def many(shard: Shard, replies: list[Any], **more: Any) -> None:
    """An event that stores more than is stored in one turn."""
    records: list[Any] = [(f"k{n}", f"v{n}") for n in range(MANY)]
    shard.submit(
        lambda token, now_ms: Outcome(records=records, replies=[(token, "many")], **more),
        replies.append,
    )


def turns(broker: Broker, replies: list[Any]) -> int:
    """How many turns of the loop pass until the first reply."""
    count = 0
    while not replies:
        broker.scheduler.turn()
        count += 1
        assert count < 100
    return count


@pytest.mark.parametrize("is_atomic", [True, False])
def test_many_records_are_stored_in_several_turns_and_no_event_comes_between(
    broker: Broker, shard: Shard, is_atomic: bool
) -> None:
    replies: list[Any] = []
    many(shard, replies, is_atomic=is_atomic)
    put(shard, "after", "1", replies)
    assert shard.coordinator.state == {}
    assert turns(broker, replies) > 5
    broker.scheduler.settle()
    assert replies == ["many", "after"]
    expected = {f"k{n}": f"v{n}" for n in range(MANY)} | {"after": "1"}
    assert shard.coordinator.state == expected
    assert load(broker).coordinator.state == expected
    data = shard.partition.log.read(0, 1 << 20, end_offset=MANY + 1)
    batches = [header.record_count for _, header in iter_headers(data)]
    assert sum(batches) == MANY + 1
    assert (batches == [MANY, 1]) == is_atomic


def test_many_records_wait_for_replicas(broker: Broker, shard: Shard) -> None:
    two_replicas(broker)
    replies: list[Any] = []
    many(shard, replies)
    put(shard, "after", "1", replies)
    broker.scheduler.settle()
    assert (shard.coordinator.state, replies) == ({}, [])
    catch_up(broker)
    broker.scheduler.settle()
    assert (len(shard.coordinator.state), replies) == (MANY, ["many"])
    catch_up(broker)
    assert replies == ["many", "after"]


def test_many_records_that_cannot_be_written_are_refused(broker: Broker, shard: Shard) -> None:
    replies: list[Any] = []
    records: list[Any] = [(f"k{n}", "v" * 1_000) for n in range(MANY)]
    shard.submit(
        lambda token, now_ms: Outcome(records=records, replies=[(token, "many")]), replies.append
    )
    put(shard, "after", "1", replies)
    broker.scheduler.settle()
    assert replies[0].code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert replies[1:] == ["after"]
    assert shard.coordinator.state == {"after": "1"}


def test_nothing_goes_on_after_the_end_of_a_shard(broker: Broker, shard: Shard) -> None:
    replies: list[Any] = []
    many(shard, replies)
    broker.scheduler.turn()
    shard.close()
    broker.scheduler.settle()
    assert [reply.code for reply in replies] == [ErrorCode.NOT_COORDINATOR]
    assert shard.coordinator.state == {}
    assert shard.partition.log.log_end_offset == 0


def test_many_timers_are_set_in_several_turns(broker: Broker, shard: Shard) -> None:
    replies: list[Any] = []
    at_ms = broker.clock.wall_ms() + 5
    timers = [SetTimer(f"t{n}", at_ms) for n in range(MANY)]
    shard.submit(
        lambda token, now_ms: Outcome(timers=list(timers), replies=[(token, "set")]),
        replies.append,
    )
    assert turns(broker, replies) > 3
    broker.advance(6)
    expired = [line for line in shard.coordinator.diary if line.endswith("expired")]
    assert len(expired) == MANY


def test_an_event_happens_again_once_it_is_prepared_and_others_wait(
    broker: Broker, shard: Shard
) -> None:
    replies: list[Any] = []
    prepared: list[int] = []

    def preparation() -> Generator[None, None, None]:
        for step in range(1_000):
            prepared.append(step)
            yield

    def event(token: int, now_ms: int) -> Outcome[Any, Any]:
        if not prepared:
            return Outcome(preparation=preparation())
        return Outcome(records=[("a", str(len(prepared)))], replies=[(token, "a")])

    shard.submit(event, replies.append)
    put(shard, "b", "2", replies)
    assert 0 < len(prepared) < 1_000
    assert turns(broker, replies) > 5
    assert replies == ["a", "b"]
    assert shard.coordinator.state == {"a": "1000", "b": "2"}
