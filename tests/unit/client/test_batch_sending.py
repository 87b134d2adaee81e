"""The pipelined sender: nothing lost, doubled or out of order, whatever a broker answers."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.batch_request import Batch
from headrace.client.batch_sending import BatchSender
from headrace.client.send_config import SendConfig
from headrace.protocol.apis import ApiKey
from headrace.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from headrace.records.batch import read_header
from headrace.records.builder import build_batch
from headrace.records.reader import read_batch
from headrace.records.record import Record
from tests.unit.client.scripted_broker import Answer, ScriptedBroker
from tests.unit.client.test_blocking import client_of


class Log:
    """A broker's log as far as a producer sees it: sequences are checked as Kafka checks them."""

    def __init__(self, trouble: Callable[[int], ErrorCode | None] | None = None) -> None:
        self.values: dict[int, list[bytes]] = {}
        self._next: dict[int, int] = {}
        self._seen: dict[int, list[tuple[int, int]]] = {}
        self._requests = 0
        #: What goes wrong with the n-th request: an error instead, or None to break off after it.
        self._trouble = trouble or (lambda _n: ErrorCode.NONE)
        self.bytes_max = 1 << 30

    def produce(self, request: ProduceRequest, _version: int) -> Answer:
        self._requests += 1
        trouble = self._trouble(self._requests)
        if trouble:
            rows = [(d.index, trouble) for d in request.topic_data[0].partition_data]
        else:
            rows = [
                (d.index, self._append(d.index, bytes(d.records or b"")))
                for d in request.topic_data[0].partition_data
            ]
        if trouble is None:
            return None  # written, and nobody is told
        answers = [PartitionProduceResponse(index=i, error_code=code) for i, code in rows]
        return ProduceResponse(
            responses=[TopicProduceResponse(name="t", partition_responses=answers)]
        )

    def _append(self, partition: int, data: bytes) -> ErrorCode:
        header = read_header(data)
        if len(data) > self.bytes_max:
            return ErrorCode.MESSAGE_TOO_LARGE
        # Of a producer that a log knows nothing of, it takes any sequence.
        sequence = header.base_sequence
        expected = self._next.get(partition, sequence)
        if (sequence, header.record_count) in self._seen.get(partition, [])[-5:]:
            return ErrorCode.NONE
        if sequence != expected:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        self._next[partition] = expected + header.record_count
        self._seen.setdefault(partition, []).append((sequence, header.record_count))
        self.values.setdefault(partition, []).extend(row.value or b"" for row in read_batch(data))
        return ErrorCode.NONE


def batches(count: int, partitions: int = 2, records: int = 3) -> list[Batch]:
    made = []
    for number in range(count):
        for partition in range(partitions):
            first = number * records
            rows = [Record(n, 0, None, b"%d" % (first + n)) for n in range(records)]
            data = build_batch(rows, producer_id=7, producer_epoch=0, base_sequence=first)
            made.append(Batch(("t", partition), data, records))
    return made


def send_all(log: Log, made: list[Batch], config: SendConfig | None = None) -> None:
    broker = ScriptedBroker({ApiKey.PRODUCE: log.produce})
    broker.topics = {"t": 2}
    with broker, client_of(broker.address) as client:
        sender = BatchSender(client, config or SendConfig(delivery_timeout_ms=5_000))
        for start in range(0, len(made), 2):
            sender.send(made[start : start + 2])
        sender.flush()
        assert sender.records_acknowledged == sum(batch.count for batch in made)


def expected(count: int, records: int = 3) -> list[bytes]:
    return [b"%d" % number for number in range(count * records)]


def test_everything_arrives_in_order() -> None:
    log = Log()
    send_all(log, batches(30))
    assert log.values == {0: expected(30), 1: expected(30)}


@pytest.mark.parametrize("seed", range(8))
def test_errors_and_broken_connections_in_between_change_nothing(seed: int) -> None:
    chance = random.Random(seed)
    kinds = [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.REQUEST_TIMED_OUT, None]

    def trouble(_number: int) -> ErrorCode | None:
        return chance.choice(kinds) if chance.random() < 0.25 else ErrorCode.NONE

    log = Log(trouble)
    send_all(log, batches(30))
    assert log.values == {0: expected(30), 1: expected(30)}


def test_a_batch_too_large_for_its_topic_is_cut_until_it_fits() -> None:
    log = Log()
    log.bytes_max = 100
    send_all(log, batches(3, records=50))
    assert log.values == {0: expected(3, 50), 1: expected(3, 50)}


def test_nothing_overtakes_a_producers_first_batch_when_that_is_too_large() -> None:
    log = Log()
    log.bytes_max = 300
    large, small = batches(1, records=50), batches(51, records=1)[100:]
    send_all(log, large + small)
    assert log.values == {0: expected(51, 1), 1: expected(51, 1)}


def test_a_record_too_large_for_its_topic_is_told() -> None:
    log = Log()
    log.bytes_max = 10
    with pytest.raises(KafkaError, match="Partition 0 of topic t") as caught:
        send_all(log, batches(1, records=2))
    assert caught.value.code is ErrorCode.MESSAGE_TOO_LARGE


def test_a_hole_in_the_sequences_is_an_error_for_good() -> None:
    log = Log()
    with pytest.raises(KafkaError) as caught:
        send_all(log, batches(1) + batches(3)[4:])
    assert caught.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_what_is_never_acknowledged_is_told_when_the_time_is_up() -> None:
    log = Log(lambda _n: ErrorCode.NOT_ENOUGH_REPLICAS)
    with pytest.raises(KafkaError, match="not acknowledged within 50 ms"):
        send_all(log, batches(2), SendConfig(delivery_timeout_ms=50))


def test_requests_hold_one_batch_of_a_partition_and_keep_to_their_size() -> None:
    sizes: list[int] = []
    log = Log()

    def produce(request: ProduceRequest, version: int) -> Answer:
        rows = request.topic_data[0].partition_data
        assert len({row.index for row in rows}) == len(rows)
        sizes.append(sum(len(row.records or b"") for row in rows))
        return log.produce(request, version)

    broker = ScriptedBroker({ApiKey.PRODUCE: produce})
    broker.topics = {"t": 2}
    made = batches(10)
    limit = len(made[0].data) + 10
    with broker, client_of(broker.address) as client:
        sender = BatchSender(client, SendConfig(request_bytes_max=limit))
        sender.send(made)
        sender.flush()
    assert max(sizes) <= limit
    assert log.values == {0: expected(10), 1: expected(10)}
