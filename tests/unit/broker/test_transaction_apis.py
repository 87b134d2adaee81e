"""What the stories leave out: batches of transactions, filters, and who may see or do what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.base.errors import ErrorCode
from headrace.broker.authorization import CLUSTER_NAME, Operation, ResourceType
from headrace.broker.producer_ids import ProducerIds
from headrace.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from headrace.protocol.messages.list_transactions import ListTransactionsRequest
from headrace.transactions.transaction import ProducerIdentity, TopicPartition
from tests.support import transaction_requests as requests
from tests.unit.broker.fakes import DenyAll
from tests.unit.broker.harness import Broker

NOBODY = ProducerIdentity(-1, -1)
A0 = TopicPartition("a", 0)
B0 = TopicPartition("b", 0)


def begin(broker: Broker, *ids: str) -> list[ProducerIdentity]:
    """Producers with open transactions in a-0 and b-0."""
    for name in ("a", "b"):
        broker.create_topic(name)
    producers = []
    for id_ in ids:
        broker.ask(requests.find(1, id_), 4)
        response = broker.ask(requests.init(id_, 60_000, NOBODY))
        assert response.error_code == 0
        producers.append(ProducerIdentity(response.producer_id, response.producer_epoch))
        broker.ask(requests.add(id_, producers[-1], [A0, B0], 5, verify=False), 5)
    return producers


def listed(broker: Broker, version: int | None = None, **filters: Any) -> list[str]:
    response = broker.ask(ListTransactionsRequest(**filters), version)
    assert response.error_code == 0
    return sorted(one.transactional_id for one in response.transaction_states)


def test_other_brokers_ask_for_many_transactions_at_once(broker: Broker) -> None:
    one, other = begin(broker, "one", "other")
    stale = ProducerIdentity(other.producer_id, 9)
    asked = [
        requests.add("one", one, [A0, TopicPartition("a", 0)], 5, verify=True),
        requests.add("other", stale, [A0], 5, verify=False),
        requests.add("unknown", one, [A0], 5, verify=True),
    ]
    request = AddPartitionsToTxnRequest(
        transactions=[transaction for one in asked for transaction in one.transactions]
    )
    response = broker.ask(request, 5)
    found = {
        result.transactional_id: {
            ErrorCode(partition.partition_error_code)
            for topic in result.topic_results
            for partition in topic.results_by_partition
        }
        for result in response.results_by_transaction
    }
    assert found == {
        "one": {ErrorCode.NONE},
        "other": {ErrorCode.PRODUCER_FENCED},
        "unknown": {ErrorCode.INVALID_PRODUCER_ID_MAPPING},
    }
    assert broker.ask(AddPartitionsToTxnRequest(), 5).results_by_transaction == []


def test_transactions_are_listed_by_pattern_age_state_and_producer(broker: Broker) -> None:
    producers = begin(broker, "app-1", "app-22", "other")
    assert listed(broker) == ["app-1", "app-22", "other"]
    assert listed(broker, transactional_id_pattern="app-.*") == ["app-1", "app-22"]
    # The whole id has to match.
    assert listed(broker, transactional_id_pattern="app") == []
    assert listed(broker, transactional_id_pattern="") == ["app-1", "app-22", "other"]
    assert listed(broker, producer_id_filters=[producers[2].producer_id]) == ["other"]
    assert listed(broker, duration_filter=50) == []
    broker.advance(100)
    assert listed(broker, duration_filter=50) == ["app-1", "app-22", "other"]
    assert listed(broker, 0, state_filters=["Empty"]) == []


def test_a_pattern_that_is_none_is_refused(broker: Broker) -> None:
    response = broker.ask(ListTransactionsRequest(transactional_id_pattern="("))
    assert response.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_a_hostile_pattern_takes_no_time(broker: Broker) -> None:
    begin(broker, "a" * 200)
    assert listed(broker, transactional_id_pattern="(a*)*b") == []


def rights(*allowed: tuple[Operation, ResourceType, str]) -> DenyAll:
    return DenyAll(*allowed)


def test_nobody_sees_more_than_they_may(broker: Broker) -> None:
    begin(broker, "mine", "theirs")
    broker.connection.authorizer = rights(
        (Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, "mine"),
        (Operation.DESCRIBE, ResourceType.TOPIC, "b"),
    )
    assert listed(broker) == ["mine"]
    (mine,) = broker.ask(requests.describe("mine")).transaction_states
    assert [topic.topic for topic in mine.topics] == ["b"]
    (theirs,) = broker.ask(requests.describe("theirs")).transaction_states
    assert theirs.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert (theirs.transaction_state, theirs.topics) == ("", [])


@pytest.mark.parametrize("operation", [Operation.ALTER, Operation.CLUSTER_ACTION])
def test_markers_are_for_brokers_and_administrators(broker: Broker, operation: Operation) -> None:
    (producer,) = begin(broker, "t")
    request = requests.markers(False, producer._replace(producer_epoch=1), A0)
    broker.connection.authorizer = rights((operation, ResourceType.CLUSTER, CLUSTER_NAME))
    (result,) = broker.ask(request).markers[0].topics[0].partitions
    assert result.error_code == 0
    assert broker.partition("a").log.log_end_offset == 1


def test_offsets_need_the_id_the_group_and_the_topic(broker: Broker) -> None:
    (producer,) = begin(broker, "t")
    broker.ask(requests.find(0, "g"), 4)
    write = (Operation.WRITE, ResourceType.TRANSACTIONAL_ID, "t")
    group = (Operation.READ, ResourceType.GROUP, "g")
    topic = (Operation.READ, ResourceType.TOPIC, "a")

    def commit(*allowed: tuple[Operation, ResourceType, str]) -> list[ErrorCode]:
        broker.connection.authorizer = rights(*allowed)
        request = requests.offsets("t", "g", producer, {A0: 1, B0: 2})
        response = broker.ask(request)
        return [
            ErrorCode(partition.error_code)
            for topic in sorted(response.topics, key=lambda topic: topic.name)
            for partition in topic.partitions
        ]

    refused = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert commit(group, topic) == [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED] * 2
    assert commit(write, topic) == [ErrorCode.GROUP_AUTHORIZATION_FAILED] * 2
    assert commit(write, group) == [refused] * 2
    assert commit(write, group, topic) == [ErrorCode.NONE, refused]
    added = broker.ask(requests.add_offsets("t", "other", producer))
    assert added.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


def test_producers_cannot_add_internal_topics_themselves(broker: Broker) -> None:
    (producer,) = begin(broker, "t")
    broker.ask(requests.find(0, "g"), 4)
    place = TopicPartition("__consumer_offsets", 0)
    response = broker.ask(requests.add("t", producer, [place], 3, verify=False), 3)
    (topic,) = response.results_by_topic_v3_and_below
    (result,) = topic.results_by_partition
    assert result.partition_error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_without_its_topic_there_is_no_coordinator(broker: Broker) -> None:
    response = broker.ask(requests.init("t", 60_000, NOBODY))
    assert response.error_code == ErrorCode.NOT_COORDINATOR
    assert (response.producer_id, response.producer_epoch) == (-1, -1)


@pytest.mark.parametrize("version", range(6))
def test_an_empty_transactional_id_is_refused_in_every_version(
    broker: Broker, version: int
) -> None:
    response = broker.ask(requests.init("", 60_000, NOBODY), version)
    assert response.error_code == ErrorCode.INVALID_REQUEST


def test_the_internal_topic_is_as_kafka_makes_it(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    broker.ask(requests.find(1, "t"), 4)
    image = broker.plane.image.topics_by_name["__transaction_state"]
    assert len(image.partitions) == 50
    config = broker.partition("__transaction_state").log.config
    assert config.compact
    assert config.compression_type == "uncompressed"
    broker.close()


def test_the_next_block_of_ids_is_fetched_in_good_time() -> None:
    asked: list[Any] = []
    ids = ProducerIds(asked.append)
    ids.when_stocked(lambda error: None)
    asked.pop()((0, 20))
    assert [ids.take_now() for _ in range(17)] == list(range(17))
    assert asked == []
    assert ids.take_now() == 17
    (answer,) = asked
    assert [ids.take_now(), ids.take_now()] == [18, 19]
    answer((100, 20))
    assert ids.take_now() == 100
    assert len(asked) == 1
