"""What the coordinator does beside the stories: timers, and what its tools show."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.linear_regex import compile_regex
from headrace.base.outcome import SetTimer
from headrace.broker.coordination.long_work import to_the_end
from headrace.transactions.config import TransactionConfig
from headrace.transactions.listing import Filter, described, listed
from headrace.transactions.requests import AddPartitions, EndTransaction, InitProducer
from headrace.transactions.states import TransactionState
from headrace.transactions.transaction import EPOCH_MAX, ProducerIdentity, TopicPartition
from headrace.transactions.upkeep import ENDED_AT_ONCE
from tests.unit.transactions.runner import Runner

A0 = TopicPartition("a", 0)
B1 = TopicPartition("b", 1)


def begin(runner: Runner, id_: str, *partitions: TopicPartition) -> ProducerIdentity:
    producer: ProducerIdentity = runner.ask(InitProducer(id_, 60_000))
    if partitions:
        runner.ask(AddPartitions(id_, producer, frozenset(partitions), 2))
    return producer


def test_nothing_ticks_while_no_transaction_is_open() -> None:
    runner = Runner()
    assert set(runner.timers) == {"expire"}
    producer = begin(runner, "t", A0)
    assert set(runner.timers) == {"expire", "abort"}
    runner.ask(EndTransaction("t", producer, True, 2))
    runner.mark_all()
    runner.advance(runner.config.abort_check_interval_ms)
    assert set(runner.timers) == {"expire"}


def test_a_busy_producer_does_not_put_off_the_look_at_a_slow_one() -> None:
    runner = Runner(TransactionConfig(abort_check_interval_ms=1_000))
    slow: ProducerIdentity = runner.ask(InitProducer("slow", 1_500))
    runner.ask(AddPartitions("slow", slow, frozenset({A0}), 2))
    busy = begin(runner, "busy")
    for _ in range(30):
        runner.ask(AddPartitions("busy", busy, frozenset({B1}), 2))
        busy = runner.ask(EndTransaction("busy", busy, True, 2))
        runner.mark_all()
        runner.advance(100)
    found = runner.coordinator.get("slow")
    assert found is not None
    assert found.state is TransactionState.COMPLETE_ABORT


def test_a_transaction_that_another_system_commits_never_times_out() -> None:
    runner = Runner(TransactionConfig(timeout_ms_max=2**31 - 1))
    prepared: ProducerIdentity = runner.ask(InitProducer("t", 2**31 - 1))
    runner.ask(AddPartitions("t", prepared, frozenset({A0}), 2))
    runner.advance(2**32)
    found = runner.coordinator.get("t")
    assert found is not None
    assert found.state is TransactionState.ONGOING


def test_a_request_with_an_empty_transactional_id_is_no_request() -> None:
    runner = Runner()
    for request in (
        InitProducer("", 60_000),
        AddPartitions("", ProducerIdentity(1, 0), frozenset({A0}), 2),
        EndTransaction("", ProducerIdentity(1, 0), True, 2),
    ):
        reply = runner.ask(request)
        assert isinstance(reply, KafkaError)
        assert reply.code is ErrorCode.INVALID_REQUEST
    assert runner.log == []


def test_a_refused_request_writes_nothing() -> None:
    runner = Runner()
    begin(runner, "t", A0)
    before = list(runner.log)
    stale = ProducerIdentity(1, 5)
    runner.ask(AddPartitions("t", stale, frozenset({B1}), 2))
    runner.ask(EndTransaction("t", stale, True, 2))
    runner.ask(InitProducer("t", 0))
    runner.ask(AddPartitions("t", ProducerIdentity(1, 0), frozenset({A0}), 2))
    assert runner.log == before


def test_many_late_transactions_are_aborted_some_at_a_time_but_without_a_pause() -> None:
    runner = Runner()
    for number in range(120):
        begin(runner, f"t{number}", A0)
    runner.now_ms += 80_000
    rounds = []
    while "abort" in runner.timers:
        assert runner.timers.pop("abort") <= runner.now_ms
        before = len(runner.markers)
        runner.run(runner.coordinator.timer_expired("abort", runner.now_ms))
        rounds.append(len(runner.markers) - before)
    assert sum(rounds) == 120
    assert max(rounds) <= ENDED_AT_ONCE
    runner.mark_all()
    states = {one.state for one in runner.coordinator}
    assert states == {TransactionState.COMPLETE_ABORT}


def test_late_transactions_that_cannot_be_aborted_yet_are_left_to_the_next_look() -> None:
    runner = Runner()
    for number in range(ENDED_AT_ONCE):
        producer = begin(runner, f"t{number}", A0)
        transaction = runner.coordinator.get(f"t{number}")
        assert transaction is not None
        worn_out = replace(transaction, producer_epoch=EPOCH_MAX - 1)
        runner.coordinator.apply(f"t{number}", worn_out, -1)
        assert producer.producer_epoch == 0
    runner.next_producer_id = None
    runner.now_ms += 80_000
    outcome = runner.coordinator.timer_expired("abort", runner.now_ms)
    assert outcome.records == []
    (timer,) = outcome.timers
    assert timer == SetTimer("abort", runner.now_ms + runner.config.abort_check_interval_ms)


def test_ends_that_were_decided_before_a_restart_are_carried_out_some_at_a_time() -> None:
    runner = Runner()
    names = [f"t{number}" for number in range(120)]
    for name in names:
        producer = begin(runner, name, A0)
        runner.ask(EndTransaction(name, producer, True, 2))
    runner.restart()
    assert 0 < len(runner.markers) <= ENDED_AT_ONCE
    # What is decided by and by has its markers from that decision, and once.
    producer = begin(runner, "new", A0)
    runner.ask(EndTransaction("new", producer, True, 2))
    runner.advance(0)
    assert sorted(one.transactional_id for one in runner.markers) == sorted([*names, "new"])
    runner.mark_all()
    states = {one.state for one in runner.coordinator}
    assert states == {TransactionState.COMPLETE_COMMIT}


def test_late_transactions_are_all_ended_though_the_log_fails_half_way() -> None:
    runner = Runner()
    for number in range(50):
        begin(runner, f"t{number}", A0)
    runner.write_error, runner.written_at_failure = KafkaError(ErrorCode.NOT_COORDINATOR), 20
    runner.advance(60_000 + runner.config.abort_check_interval_ms)
    assert [marker.transactional_id for marker in runner.markers] == [f"t{n}" for n in range(20)]
    runner.advance(runner.config.abort_check_interval_ms)
    assert len(runner.markers) == 50
    runner.mark_all()
    states = {one.state for one in runner.coordinator}
    assert states == {TransactionState.COMPLETE_ABORT}


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (Filter(), ["open", "idle", "done"]),
        (Filter(states=frozenset({TransactionState.ONGOING})), ["open"]),
        (Filter(states=frozenset()), []),
        (Filter(producer_ids=frozenset({2, 3})), ["idle", "done"]),
        (Filter(duration_ms=3_000), ["open", "idle"]),
        (Filter(duration_ms=0), ["open", "idle", "done"]),
        (Filter(pattern=compile_regex("d.*", "A pattern")), ["done"]),
    ],
)
def test_tools_list_what_they_ask_for(wanted: Filter, ids: list[str]) -> None:
    runner = Runner()
    begin(runner, "open", A0)
    begin(runner, "idle")
    runner.advance(2_000)
    producer = begin(runner, "done", A0)
    runner.ask(EndTransaction("done", producer, True, 2))
    runner.mark_all()
    runner.advance(2_000)
    looks = listed(runner.coordinator, wanted, lambda id_: True, runner.now_ms)
    found = to_the_end(looks)
    assert [one.transactional_id for one in found] == ids


def test_a_description_tells_topics_and_times() -> None:
    runner = Runner()
    begin(runner, "t", A0, B1, TopicPartition("a", 5))
    found = runner.coordinator.get("t")
    assert found is not None
    state = described(found)
    assert [(topic.topic, topic.partitions) for topic in state.topics] == [
        ("a", [0, 5]),
        ("b", [1]),
    ]
    assert (state.transaction_state, state.transaction_timeout_ms) == ("Ongoing", 60_000)
    assert state.transaction_start_time_ms == runner.now_ms
