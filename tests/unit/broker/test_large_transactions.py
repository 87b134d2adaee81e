"""Many transactions, or large ones, are listed, described and ended in steps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.base.errors import ErrorCode
from headrace.broker.coordination.shard import Shard
from headrace.protocol.messages.describe_transactions import DescribeTransactionsRequest
from headrace.protocol.messages.list_transactions import ListTransactionsRequest
from headrace.transactions.states import TransactionState
from headrace.transactions.transaction import ProducerIdentity, TopicPartition, Transaction
from tests.support import transaction_requests as requests
from tests.unit.broker.frames import Exchange
from tests.unit.broker.harness import Broker
from tests.unit.broker.one_coordinator import ask, turns_until_answered

COSTLY = "([a-z]?[0-9]?){0,400}x"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    running = Broker(tmp_path, overrides={"transaction.state.log.num.partitions": "1"})
    running.ask(requests.find(1, "t"), 4)
    yield running
    running.close()


def the_shard(broker: Broker) -> Shard:
    (shard,) = broker.transactions.transactions.coordinators
    return shard


def known(broker: Broker, name: str, **more: Any) -> None:
    """The coordinator knows of a transaction as if it had read it."""
    transaction = Transaction(name, 7, 0, 60_000, **more)
    the_shard(broker).coordinator.apply(name, transaction, -1)


def names_in(exchange: Exchange) -> list[str]:
    assert getattr(exchange.response, "error_code", 0) == 0
    return [state.transactional_id for state in exchange.response.transaction_states]


# Listing


def test_a_costly_pattern_is_matched_in_many_turns(broker: Broker) -> None:
    names = [f"{number:02}{'ab' * 1_000}" for number in range(30)]
    for name in [*names, "abx"]:
        known(broker, name)
    exchange = ask(broker, ListTransactionsRequest(transactional_id_pattern=COSTLY))
    assert turns_until_answered(broker, exchange) > 20
    assert names_in(exchange) == ["abx"]


def test_a_pattern_whose_single_match_would_take_too_long_is_refused(broker: Broker) -> None:
    known(broker, "ab" * 16_000)
    response = broker.ask(ListTransactionsRequest(transactional_id_pattern=COSTLY))
    assert response.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert response.transaction_states == []
    # Not for the sake of ids that are left out anyway, nor if it is an ordinary one.
    others = ListTransactionsRequest(transactional_id_pattern=COSTLY, producer_id_filters=[8])
    assert broker.ask(others).error_code == 0
    (found,) = broker.ask(
        ListTransactionsRequest(transactional_id_pattern="(ab)+")
    ).transaction_states
    assert len(found.transactional_id) == 32_000


def test_a_long_list_is_made_and_encoded_in_many_turns(broker: Broker) -> None:
    names = [f"t{number}" for number in range(10_000)]
    for name in names:
        known(broker, name)
    exchange = ask(broker, ListTransactionsRequest())
    assert turns_until_answered(broker, exchange) > 5
    assert names_in(exchange) == names


def test_nothing_more_is_listed_for_a_client_that_is_gone(broker: Broker) -> None:
    for number in range(10_000):
        known(broker, f"t{number}")
    exchange = ask(broker, ListTransactionsRequest())
    broker.scheduler.turn()
    assert exchange.parked is not None
    exchange.parked.abandon()
    broker.scheduler.turn()
    assert not broker.scheduler._soon
    assert not exchange.is_answered


# Describing


def test_a_transaction_is_described_once_however_often_it_is_named(broker: Broker) -> None:
    known(broker, "t", partitions=frozenset({TopicPartition("a", 0)}))
    asked = DescribeTransactionsRequest(transactional_ids=["t", "unknown", ""] * 1_000)
    states = broker.ask(asked).transaction_states
    assert [(state.transactional_id, state.error_code) for state in states] == [
        ("t", ErrorCode.NONE),
        ("unknown", ErrorCode.TRANSACTIONAL_ID_NOT_FOUND),
        ("", ErrorCode.INVALID_REQUEST),
    ]


def test_large_transactions_are_described_in_many_turns(broker: Broker) -> None:
    places = frozenset(TopicPartition(f"a{index % 10}", index) for index in range(1_000))
    names = [f"t{number}" for number in range(100)]
    for name in names:
        known(broker, name, partitions=places)
    exchange = ask(broker, DescribeTransactionsRequest(transactional_ids=names))
    assert turns_until_answered(broker, exchange) > 5
    assert names_in(exchange) == names
    for state in exchange.response.transaction_states:
        assert {
            TopicPartition(topic.topic, index)
            for topic in state.topics
            for index in topic.partitions
        } == places


# Ending


def opened(broker: Broker, name: str, places: list[TopicPartition]) -> ProducerIdentity:
    response = broker.ask(requests.init(name, 60_000, ProducerIdentity(-1, -1)))
    producer = ProducerIdentity(response.producer_id, response.producer_epoch)
    broker.ask(requests.add(name, producer, places, 5, verify=False), 5)
    return producer


def marker_count(broker: Broker, topic: str, partitions: int) -> int:
    return sum(broker.partition(topic, index).log.log_end_offset for index in range(partitions))


def state_of(broker: Broker, name: str) -> TransactionState:
    transaction = the_shard(broker).coordinator.get(name)
    assert transaction is not None
    state: TransactionState = transaction.state
    return state


def test_the_markers_of_a_large_transaction_are_written_in_many_turns(broker: Broker) -> None:
    broker.create_topic("a", 300)
    broker.create_topic("b", 1)
    large = opened(broker, "large", [TopicPartition("a", index) for index in range(300)])
    small = opened(broker, "small", [TopicPartition("b", 0)])
    assert ask(broker, requests.end("large", large, True)).response.error_code == 0
    written = [marker_count(broker, "a", 300)]
    # It does not wait for the other one to have all its markers.
    assert ask(broker, requests.end("small", small, True)).response.error_code == 0
    while state_of(broker, "large") is TransactionState.PREPARE_COMMIT:
        if len(written) == 2:
            assert state_of(broker, "small") is TransactionState.COMPLETE_COMMIT
        broker.scheduler.turn()
        written.append(marker_count(broker, "a", 300))
    assert written[-1] == 300
    steps = [after - before for before, after in zip([0, *written], written, strict=False)]
    assert max(steps) <= 50


def test_transactions_that_are_all_late_at_once_are_ended_in_many_turns(broker: Broker) -> None:
    broker.create_topic("a", 1)
    names = [f"t{number}" for number in range(300)]
    for name in names:
        opened(broker, name, [TopicPartition("a", 0)])
    broker.clock.advance(80_000)
    broker.scheduler.fire_due(settles=False)
    written = [marker_count(broker, "a", 1)]
    while written[-1] < 300:
        broker.scheduler.turn()
        written.append(marker_count(broker, "a", 1))
        assert written[-1] - written[-2] <= 100
    assert {state_of(broker, name) for name in names} == {TransactionState.COMPLETE_ABORT}


def test_an_end_of_few_partitions_has_its_markers_with_its_answer(broker: Broker) -> None:
    broker.create_topic("a", 3)
    producer = opened(broker, "t", [TopicPartition("a", index) for index in range(3)])
    assert ask(broker, requests.end("t", producer, True)).response.error_code == 0
    assert marker_count(broker, "a", 3) == 3
    assert state_of(broker, "t") is TransactionState.COMPLETE_COMMIT
