"""The small producer: partitions, sequences, errors."""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.partitioner import partition_for_key
from headrace.client.producing import ProducerConfig, RecordSender
from headrace.protocol.apis import ApiKey
from headrace.protocol.messages.init_producer_id import InitProducerIdResponse
from headrace.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from headrace.records.batch import read_header
from headrace.records.reader import read_batch
from headrace.records.record import Record
from tests.unit.client.scripted_broker import Answer, ScriptedBroker
from tests.unit.client.test_blocking import client_of


class Log:
    """What the scripted broker was sent, and the codes it answers with."""

    def __init__(self, *codes: ErrorCode) -> None:
        self.codes = list(codes)
        self.batches: list[tuple[int, bytes]] = []

    def produce(self, request: ProduceRequest, _version: int) -> Answer:
        code = self.codes.pop(0) if self.codes else ErrorCode.NONE
        rows = []
        for data in request.topic_data[0].partition_data:
            self.batches.append((data.index, bytes(data.records or b"")))
            rows.append(PartitionProduceResponse(index=data.index, error_code=code))
        topic = TopicProduceResponse(name=request.topic_data[0].name, partition_responses=rows)
        return ProduceResponse(responses=[topic])

    def records(self) -> list[tuple[int, bytes | None]]:
        return [(index, row.value) for index, data in self.batches for row in read_batch(data)]


def broker_with(log: Log) -> ScriptedBroker:
    broker = ScriptedBroker(
        {
            ApiKey.PRODUCE: log.produce,
            ApiKey.INIT_PRODUCER_ID: lambda _r, _v: InitProducerIdResponse(producer_id=42),
        }
    )
    broker.topics = {"t": 4}
    return broker


def test_keys_choose_the_partition_and_sequences_follow_one_another() -> None:
    log = Log()
    with broker_with(log) as broker, client_of(broker.address) as client:
        sender = RecordSender(client, "t", ProducerConfig(), lambda _r, _e: None)
        sender.start()
        for number in range(3):
            sender.send(b"key", b"%d" % number, timestamp=number)
            sender.flush()
    expected = partition_for_key(b"key", 4)
    assert log.records() == [(expected, b"0"), (expected, b"1"), (expected, b"2")]
    headers = [read_header(data) for _, data in log.batches]
    assert [header.base_sequence for header in headers] == [0, 1, 2]
    assert {header.producer_id for header in headers} == {42}


def test_a_retry_sends_the_same_batch_so_that_nothing_doubles() -> None:
    log = Log(ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NONE)
    with broker_with(log) as broker, client_of(broker.address) as client:
        sender = RecordSender(client, "t", ProducerConfig(), lambda _r, _e: None)
        sender.start()
        sender.send(b"k", b"v", timestamp=0)
        sender.flush()
    assert len(log.batches) == 2
    assert log.batches[0] == log.batches[1]


def test_a_batch_that_is_already_there_counts_as_sent() -> None:
    errors: list[KafkaError] = []
    log = Log(ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
    with broker_with(log) as broker, client_of(broker.address) as client:
        sender = RecordSender(client, "t", ProducerConfig(), lambda _r, e: errors.append(e))
        sender.start()
        sender.send(b"k", b"v", timestamp=0)
        sender.flush()
    assert errors == []


def test_what_cannot_be_sent_is_reported_with_its_records() -> None:
    failed: list[tuple[list[Record], KafkaError]] = []
    log = Log(ErrorCode.MESSAGE_TOO_LARGE)
    with broker_with(log) as broker, client_of(broker.address) as client:
        sender = RecordSender(
            client, "t", ProducerConfig(), lambda rows, error: failed.append((rows, error))
        )
        sender.start()
        sender.send(b"k", b"large", timestamp=0)
        sender.flush()
    ((rows, error),) = failed
    assert [row.value for row in rows] == [b"large"]
    assert error.code is ErrorCode.MESSAGE_TOO_LARGE


def test_keyless_records_stay_together_and_a_full_batch_is_sent_by_itself() -> None:
    log = Log()
    with broker_with(log) as broker, client_of(broker.address) as client:
        config = ProducerConfig(batch_size=200)
        sender = RecordSender(client, "t", config, lambda _r, _e: None)
        sender.start()
        for number in range(20):
            sender.send(None, b"%020d" % number, timestamp=0)
        assert log.batches, "nothing was sent before the flush"
        sender.flush()
    assert sorted(value or b"" for _, value in log.records()) == [b"%020d" % n for n in range(20)]


def test_acks_0_waits_for_no_answer() -> None:
    log = Log()

    def silent(request: ProduceRequest, version: int) -> Answer:
        log.produce(request, version)
        return b""

    with broker_with(log) as broker, client_of(broker.address) as client:
        broker.scripts[ApiKey.PRODUCE] = silent
        sender = RecordSender(client, "t", ProducerConfig(acks=0), lambda _r, _e: None)
        sender.start()
        sender.send(b"k", b"v", timestamp=0)
        sender.flush()
        assert client.cluster().cluster_id == "scripted"  # the connection is still in step
