"""The transaction client and the batch sender together, against a real node."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.batch_request import Batch
from headrace.client.batch_sending import BatchSender
from headrace.client.blocking import KafkaClient
from headrace.client.config import ClientConfig
from headrace.client.groups_offsets import CommittedOffset, committed_offsets
from headrace.client.send_config import SendConfig
from headrace.client.transactions import FencedError, Producer, TransactionClient
from headrace.protocol.apis import ApiKey
from headrace.protocol.messages.end_txn import EndTxnResponse
from headrace.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from headrace.protocol.messages.init_producer_id import InitProducerIdResponse
from headrace.records.builder import build_batch
from headrace.records.record import Record
from headrace.testing import EmbeddedKafka
from tests.unit.client.scripted_broker import ScriptedBroker
from tests.unit.client.test_blocking import client_of


@pytest.fixture(scope="module")
def node() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka(in_process=True) as kafka:
        yield kafka


@pytest.fixture
def client(node: EmbeddedKafka) -> Iterator[KafkaClient]:
    settings = {"bootstrap.servers": node.bootstrap_servers}
    with KafkaClient(ClientConfig.from_settings(settings)) as made:
        yield made


def batch(
    producer: Producer, topic: str, *values: bytes, partition: int = 0, sequence: int = 0
) -> Batch:
    rows = [Record(n, 0, None, value) for n, value in enumerate(values)]
    data = build_batch(
        rows,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        base_sequence=sequence,
        transactional=True,
    )
    return Batch((topic, partition), data, len(values))


def write(client: KafkaClient, name: str, *batches: Batch) -> None:
    sender = BatchSender(client, SendConfig(transactional_id=name))
    sender.send(batches)
    sender.flush()


def values(node: EmbeddedKafka, topic: str, count: int) -> list[bytes | None]:
    return sorted(
        (row.value for row in node.consume(topic, count, isolation="read_committed")),
        key=lambda value: value or b"",
    )


def test_two_writers_and_offsets_are_committed_together(
    node: EmbeddedKafka, client: KafkaClient
) -> None:
    topic, source = node.topic(partitions=2), node.topic()
    transaction = TransactionClient(client, "together")
    producer = transaction.begin()
    transaction.add_partitions([(topic, 0), (topic, 1)])
    write(client, "together", batch(producer, topic, b"a", b"b"))
    write(client, "together", batch(producer, topic, b"c", partition=1))
    transaction.commit_offsets("g", {(source, 0): CommittedOffset(12, metadata="batch 3")})
    assert (source, 0) not in committed_offsets(client, "g")
    transaction.end(commit=True)
    assert values(node, topic, 3) == [b"a", b"b", b"c"]
    found = committed_offsets(client, "g", require_stable=True)
    assert found[source, 0] == CommittedOffset(12, metadata="batch 3")


def test_what_is_aborted_is_never_seen_and_the_next_epoch_starts_at_0(
    node: EmbeddedKafka, client: KafkaClient
) -> None:
    topic = node.topic()
    transaction = TransactionClient(client, "aborted")
    for commit in (False, True, False, True):
        producer = transaction.begin()
        transaction.add_partitions([(topic, 0)])
        write(client, "aborted", batch(producer, topic, b"yes" if commit else b"no"))
        transaction.commit_offsets("g2", {(topic, 0): CommittedOffset(int(commit))})
        transaction.end(commit=commit)
    assert values(node, topic, 2) == [b"yes", b"yes"]
    assert committed_offsets(client, "g2", require_stable=True)[topic, 0].offset == 1


def test_a_new_run_fences_the_old_one_and_aborts_its_half(
    node: EmbeddedKafka, client: KafkaClient
) -> None:
    topic = node.topic()
    old = TransactionClient(client, "fenced")
    zombie = old.begin()
    old.add_partitions([(topic, 0)])
    write(client, "fenced", batch(zombie, topic, b"half"))
    new = TransactionClient(client, "fenced")
    producer = new.begin()
    assert producer.producer_id == zombie.producer_id
    assert producer.epoch > zombie.epoch
    with pytest.raises(KafkaError) as caught:
        write(client, "fenced", batch(zombie, topic, b"late", sequence=1))
    assert caught.value.code in (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED)
    with pytest.raises(FencedError, match="Another run has taken over"):
        old.end(commit=True)
    with pytest.raises(FencedError):
        old.begin()
    new.add_partitions([(topic, 0)])
    write(client, "fenced", batch(producer, topic, b"new"))
    new.end(commit=True)
    assert values(node, topic, 1) == [b"new"]


def test_a_late_record_of_the_transaction_before_is_refused(
    node: EmbeddedKafka, client: KafkaClient
) -> None:
    topic = node.topic()
    transaction = TransactionClient(client, "late")
    before = transaction.begin()
    transaction.add_partitions([(topic, 0)])
    write(client, "late", batch(before, topic, b"1"))
    transaction.end(commit=True)
    now = transaction.begin()
    transaction.add_partitions([(topic, 0)])
    with pytest.raises(KafkaError):
        write(client, "late", batch(before, topic, b"late", sequence=1))
    write(client, "late", batch(now, topic, b"2"))
    transaction.end(commit=True)
    assert values(node, topic, 2) == [b"1", b"2"]


def test_a_transaction_without_anything_in_it_needs_no_end(client: KafkaClient) -> None:
    transaction = TransactionClient(client, "empty")
    first = transaction.begin()
    transaction.end(commit=True)
    assert transaction.begin().epoch > first.epoch


def test_a_coordinator_that_is_away_busy_or_moved_is_asked_again() -> None:
    answers = [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        None,
        ErrorCode.NONE,
    ]

    def init(_request: object, _version: int) -> InitProducerIdResponse | None:
        code = answers.pop(0)
        if code is None:
            return None  # the connection breaks
        return InitProducerIdResponse(error_code=code, producer_id=5, producer_epoch=1)

    broker = ScriptedBroker({ApiKey.INIT_PRODUCER_ID: init})
    broker.scripts[ApiKey.FIND_COORDINATOR] = lambda _r, _v: FindCoordinatorResponse(
        coordinators=[Coordinator(key="x", node_id=1, host="127.0.0.1", port=broker.port)]
    )
    broker.scripts[ApiKey.END_TXN] = lambda _r, _v: EndTxnResponse()
    with broker, client_of(broker.address) as client:
        assert TransactionClient(client, "x").begin() == Producer(5, 1)
    assert answers == []


def test_an_error_for_good_is_told() -> None:
    broker = ScriptedBroker(
        {
            ApiKey.INIT_PRODUCER_ID: lambda _r, _v: InitProducerIdResponse(
                error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            )
        }
    )
    broker.scripts[ApiKey.FIND_COORDINATOR] = lambda _r, _v: FindCoordinatorResponse(
        coordinators=[Coordinator(key="x", node_id=1, host="127.0.0.1", port=broker.port)]
    )
    with broker, client_of(broker.address) as client:
        with pytest.raises(KafkaError) as caught:
            TransactionClient(client, "x").begin()
        assert caught.value.code is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
