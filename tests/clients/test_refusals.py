"""What a node refuses, as the clients report it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer

from headrace.base.errors import ErrorCode
from headrace.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from headrace.records.batch import HEADER_SIZE
from headrace.records.builder import build_batch
from headrace.records.checksum import crc32c
from headrace.records.record import Record
from headrace.testing import EmbeddedKafka
from tests.clients.client import Client, Row, SendFailedError
from tests.clients.conftest import CLIENTS


@pytest.fixture(scope="module")
def strict() -> Iterator[EmbeddedKafka]:
    """A node that makes no topics because somebody asks for them."""
    with EmbeddedKafka({"auto.create.topics.enable": "false"}) as kafka:
        yield kafka


def test_a_record_too_large_for_its_topic_is_refused(client: Client, node: EmbeddedKafka) -> None:
    topic = node.topic(configs={"max.message.bytes": "1000"})
    with pytest.raises(SendFailedError, match=r"MSG_SIZE_TOO_LARGE|MessageSizeTooLarge"):
        client.write(topic, [Row(b"x" * 2000)])
    client.write(topic, [Row(b"x" * 100)])
    assert client.offsets(topic) == (0, 1)


def test_a_keyless_record_is_refused_by_a_compacted_topic(
    client: Client, node: EmbeddedKafka
) -> None:
    topic = node.topic(configs={"cleanup.policy": "compact"})
    # aiokafka does not know this error by name.
    with pytest.raises(SendFailedError, match=r"INVALID_RECORD|InvalidRecord|UnknownError"):
        client.write(topic, [Row(b"no key")])
    client.write(topic, [Row(b"value", b"key")])
    assert client.offsets(topic) == (0, 1)


def test_an_unknown_topic_is_told_where_topics_are_not_made_by_asking(
    strict: EmbeddedKafka,
) -> None:
    producer = Producer(
        {"bootstrap.servers": strict.bootstrap_servers, "topic.metadata.propagation.max.ms": 0}
    )
    errors: list[Any] = []
    producer.produce("nowhere", b"x", on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(30) == 0
    assert [error.name() for error in errors] == ["UNKNOWN_TOPIC_OR_PART"]
    assert strict.topics() == []


@pytest.mark.parametrize("cls", CLIENTS, ids=lambda cls: cls.name)
def test_a_topic_is_made_by_asking_where_that_is_allowed(
    cls: type[Client], node: EmbeddedKafka
) -> None:
    name = f"made-by-{cls.name}"
    client = cls(node.bootstrap_servers)
    client.write(name, [Row(b"x")])
    assert name in node.topics()
    assert client.offsets(name) == (0, 1)


def test_a_record_larger_than_the_client_allows_never_leaves_it(node: EmbeddedKafka) -> None:
    producer = Producer({"bootstrap.servers": node.bootstrap_servers})
    with pytest.raises(KafkaException, match="MSG_SIZE_TOO_LARGE"):
        producer.produce(node.topic(), b"x" * 2_000_000)
    producer.flush(30)


def test_a_topic_may_ask_for_every_record_to_be_checked(node: EmbeddedKafka) -> None:
    """A batch with a sound checksum and a broken inside: see docs/GAPS.md."""
    batch = build_batch([Record(0, 1_700_000_000_000, None, b"value")])
    batch[HEADER_SIZE] = 0x7E  # the first record claims to be longer than the batch
    batch[17:21] = crc32c(batch[21:]).to_bytes(4, "big")

    def send(topic: str) -> int:
        data = PartitionProduceData(index=0, records=bytes(batch))
        request = ProduceRequest(
            acks=-1,
            timeout_ms=30_000,
            topic_data=[TopicProduceData(name=topic, partition_data=[data])],
        )
        answer = node.client.any_node().call(request, ProduceResponse, version=9)
        return answer.responses[0].partition_responses[0].error_code

    assert send(node.topic()) == ErrorCode.NONE
    deep = node.topic(configs={"headrace.produce.validation": "deep"})
    assert send(deep) in (ErrorCode.INVALID_RECORD, ErrorCode.CORRUPT_MESSAGE)
