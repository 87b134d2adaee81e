"""Transactional batches get in with their transaction, or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.base.errors import ErrorCode
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.coordination.internal_topics import TRANSACTIONS_TOPIC
from headrace.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from headrace.records.codecs import Codec
from headrace.replication.partition import Leadership
from headrace.transactions.transaction import ProducerIdentity, TopicPartition
from tests.support import transaction_requests as requests
from tests.unit.broker.batches import batch
from tests.unit.broker.fakes import DenyAll
from tests.unit.broker.harness import Broker

OLD, NEW = 11, 12


def begin(broker: Broker, id_: str = "t") -> ProducerIdentity:
    """A producer with a coordinator."""
    assert broker.ask(requests.find(1, id_), 4).coordinators[0].error_code == 0
    response = broker.ask(requests.init(id_, 60_000, ProducerIdentity(-1, -1)))
    assert response.error_code == 0
    return ProducerIdentity(response.producer_id, response.producer_epoch)


def data(
    producer: ProducerIdentity | None, sequence: int = 0, count: int = 1, **options: Any
) -> bytes:
    if producer is not None:
        options |= {
            "producer_id": producer.producer_id,
            "producer_epoch": producer.producer_epoch,
            "base_sequence": sequence,
            "transactional": True,
        }
    return bytes(batch(count, **options))


def request(batches: dict[str, bytes], *, id_: str | None = "t", acks: int = -1) -> ProduceRequest:
    """One batch for partition 0 of each topic."""
    return ProduceRequest(
        transactional_id=id_,
        acks=acks,
        timeout_ms=1_000,
        topic_data=[
            TopicProduceData(
                name=name, partition_data=[PartitionProduceData(index=0, records=records)]
            )
            for name, records in batches.items()
        ],
    )


def codes(response: Any) -> list[ErrorCode]:
    return [
        ErrorCode(result.error_code)
        for topic in response.responses
        for result in topic.partition_responses
    ]


def end(broker: Broker, producer: ProducerIdentity, committed: bool = True) -> ProducerIdentity:
    response = broker.ask(requests.end("t", producer, committed))
    assert response.error_code == 0
    return ProducerIdentity(response.producer_id, response.producer_epoch)


def leave_ending(broker: Broker) -> ProducerIdentity:
    """A transaction whose end is decided, but whose partition `away` cannot hear of it."""
    producer = begin(broker)
    assert codes(broker.ask(request({"away": data(producer)}), NEW)) == [ErrorCode.NONE]
    move(broker, 9)
    return end(broker, producer)


def move(broker: Broker, leader: int) -> None:
    partition = broker.partition("away")
    old = partition.leadership
    partition.lead_or_follow(
        Leadership(leader, old.leader_epoch + 1, old.replicas, old.isr, old.partition_epoch + 1)
    )


@pytest.fixture
def ready(broker: Broker) -> Broker:
    for name in ("a", "b", "away"):
        broker.create_topic(name)
    return broker


def test_transactional_and_plain_batches_go_together(ready: Broker) -> None:
    producer = begin(ready)
    response = ready.ask(request({"a": data(producer), "b": data(None)}), NEW)
    assert codes(response) == [ErrorCode.NONE, ErrorCode.NONE]
    assert ready.partition("a").last_stable_offset == 0
    assert ready.partition("b").last_stable_offset == 1


def test_one_refused_partition_does_not_keep_out_the_others(ready: Broker) -> None:
    producer = begin(ready)
    added = requests.add("t", producer, [TopicPartition("a", 0)], 3, verify=False)
    ready.ask(added, 3)
    response = ready.ask(request({"a": data(producer), "b": data(producer)}), OLD)
    assert codes(response) == [ErrorCode.NONE, ErrorCode.TRANSACTION_ABORTABLE]


def test_a_partition_that_is_named_twice_is_kept_out_or_let_in_with_both_its_batches(
    ready: Broker,
) -> None:
    producer = begin(ready)
    twice = request({"a": data(producer, 0)})
    again = PartitionProduceData(index=0, records=data(producer, 1))
    twice.topic_data[0].partition_data.append(again)
    assert codes(ready.ask(twice, OLD)) == [ErrorCode.TRANSACTION_ABORTABLE] * 2
    assert ready.partition("a").log.log_end_offset == 0
    ready.ask(requests.add("t", producer, [TopicPartition("a", 0)], 3, verify=False), 3)
    assert codes(ready.ask(twice, OLD)) == [ErrorCode.NONE] * 2
    assert ready.partition("a").log.log_end_offset == 2


def test_two_producers_in_one_request_are_refused_whole(ready: Broker) -> None:
    one, other = begin(ready), begin(ready, "u")
    response = ready.ask(request({"a": data(one), "b": data(other)}), NEW)
    assert codes(response) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING] * 2
    assert ready.partition("a").log.log_end_offset == 0


def test_only_the_first_batch_asks_the_coordinator(ready: Broker) -> None:
    producer = begin(ready)
    coordinators = ready.transactions.transactions.coordinators
    assert codes(ready.ask(request({"a": data(producer, 0)}), NEW)) == [ErrorCode.NONE]
    index = coordinators.partition_of("t")
    assert index is not None
    coordinators.resign(index)
    assert codes(ready.ask(request({"a": data(producer, 1)}), NEW)) == [ErrorCode.NONE]
    response = ready.ask(request({"b": data(producer)}), NEW)
    assert codes(response) == [ErrorCode.NOT_ENOUGH_REPLICAS]


def test_a_coordinator_that_loads_makes_producers_try_again(ready: Broker) -> None:
    producer = begin(ready)
    coordinators = ready.transactions.transactions.coordinators
    index = coordinators.partition_of("t")
    assert index is not None
    coordinators.resign(index)
    coordinators.lead(ready.partition(TRANSACTIONS_TOPIC, index))
    exchange = ready.send(request({"a": data(producer)}), NEW)
    assert codes(exchange.response) == [ErrorCode.NOT_ENOUGH_REPLICAS]
    assert codes(ready.ask(request({"a": data(producer)}), NEW)) == [ErrorCode.NONE]


def test_the_end_of_the_last_transaction_is_waited_for_a_moment(ready: Broker) -> None:
    producer = leave_ending(ready)
    exchange = ready.send(request({"a": data(producer)}), NEW)
    ready.advance(50)
    assert not exchange.is_answered
    move(ready, 1)
    ready.advance(50)
    assert codes(exchange.response) == [ErrorCode.NONE]


def test_but_only_a_moment(ready: Broker) -> None:
    producer = leave_ending(ready)
    exchange = ready.send(request({"a": data(producer)}), NEW)
    ready.advance(150)
    assert codes(exchange.response) == [ErrorCode.CONCURRENT_TRANSACTIONS]
    assert ready.partition("a").log.log_end_offset == 0


def test_old_producers_are_told_to_try_again(ready: Broker) -> None:
    producer = leave_ending(ready)
    response = ready.ask(request({"a": data(producer)}), OLD)
    assert codes(response) == [ErrorCode.NOT_ENOUGH_REPLICAS]


def test_verification_can_be_switched_off_for_old_producers(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"transaction.partition.verification.enable": "false"})
    broker.create_topic("a")
    producer = begin(broker)
    assert codes(broker.ask(request({"a": data(producer)}), OLD)) == [ErrorCode.NONE]
    broker.close()


def test_a_batch_that_is_refused_for_its_records_joins_nothing(ready: Broker) -> None:
    ready.create_topic("compacted", cleanup_policy="compact")
    producer = begin(ready)
    response = ready.ask(request({"compacted": data(producer, key=None)}), NEW)
    assert codes(response) == [ErrorCode.INVALID_RECORD]
    (state,) = ready.ask(requests.describe("t")).transaction_states
    assert state.transaction_state == "Empty"


def test_a_transaction_that_ends_while_records_are_looked_into_takes_no_more(
    ready: Broker,
) -> None:
    """Otherwise the batch would stay behind the marker for ever."""
    ready.create_topic("compacted", cleanup_policy="compact")
    producer = begin(ready)
    assert codes(ready.ask(request({"compacted": data(producer)}), NEW)) == [ErrorCode.NONE]
    ready.scheduler.hold = True
    late = ready.send(request({"compacted": data(producer, 1, codec=Codec.GZIP)}), NEW)
    assert not late.is_answered
    end(ready, producer, committed=False)
    ready.scheduler.release()
    assert codes(late.response) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    partition = ready.partition("compacted")
    assert partition.last_stable_offset == partition.log.log_end_offset == 2


def test_the_transactional_id_has_to_be_allowed(tmp_path: Path) -> None:
    rights = [(Operation.WRITE, ResourceType.TOPIC, "a")]
    broker = Broker(tmp_path, authorizer=DenyAll(*rights))
    broker.create_topic("a")
    response = broker.ask(request({"a": data(ProducerIdentity(1, 0))}), NEW)
    assert codes(response) == [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED]
    # Also for whoever leaves it out, or says so of a batch that is none.
    response = broker.ask(request({"a": data(ProducerIdentity(1, 0))}, id_=None), NEW)
    assert codes(response) == [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED]
    assert codes(broker.ask(request({"a": data(None)}), NEW)) == [ErrorCode.NONE]
    broker.close()


def test_a_plain_batch_of_a_producer_in_a_transaction_is_refused(ready: Broker) -> None:
    producer = begin(ready)
    ready.ask(request({"a": data(producer)}), NEW)
    plain = batch(
        producer_id=producer.producer_id, producer_epoch=producer.producer_epoch, base_sequence=1
    )
    response = ready.ask(request({"a": bytes(plain)}, id_=None), NEW)
    assert codes(response) == [ErrorCode.INVALID_TXN_STATE]


def test_nobody_answers_a_transaction_that_wants_no_answers(ready: Broker) -> None:
    producer = begin(ready)
    assert ready.ask(request({"a": data(producer)}, acks=0), NEW) is None
    assert ready.partition("a").log.log_end_offset == 1
