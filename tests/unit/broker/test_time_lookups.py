"""ListOffsets by time where that takes longer than a moment: nobody else waits."""

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker import time_lookups
from headrace.broker.time_lookups import Opened
from headrace.log.time_lookup import Candidate, open_candidate
from headrace.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from headrace.records.batch import MAX_TIMESTAMP_POSITION, stamp_crc
from headrace.records.builder import build_batch
from headrace.records.codecs import Codec
from headrace.records.record import Record
from tests.unit.broker import harness
from tests.unit.broker.batches import NOW, batch, list_offset, produce
from tests.unit.broker.frames import Exchange
from tests.unit.broker.harness import Broker

LATEST, MAX_TIMESTAMP = -1, -3
#: More records than are looked at on the spot.
MANY = 5_000


def ask(broker: Broker, *timestamps: int) -> Exchange:
    """Ask for a time in each partition."""
    partitions = [
        ListOffsetsPartition(partition_index=index, timestamp=timestamp)
        for index, timestamp in enumerate(timestamps)
    ]
    return broker.send(
        ListOffsetsRequest(topics=[ListOffsetsTopic(name="t", partitions=partitions)])
    )


def offsets(exchange: Exchange) -> list[tuple[int, int]]:
    (topic,) = exchange.response.topics
    return [(one.error_code, one.offset) for one in topic.partitions]


def claiming(data: bytearray, timestamp: int) -> bytearray:
    """A batch whose header says that it is as new as that."""
    data[MAX_TIMESTAMP_POSITION : MAX_TIMESTAMP_POSITION + 8] = timestamp.to_bytes(8, "big")
    stamp_crc(data, 0, len(data))
    return data


def test_a_batch_of_many_records_is_opened_elsewhere_while_others_are_served(
    broker: Broker,
) -> None:
    broker.create_topic("t", 3)
    produce(broker, batch(MANY))
    produce(broker, batch(3), index=1)
    broker.scheduler.hold = True
    waiting = ask(broker, NOW + 4_321, NOW + 1, LATEST)
    assert not waiting.is_answered
    assert list_offset(broker, NOW + 1, index=1).offset == 1
    broker.scheduler.release()
    assert offsets(waiting) == [(0, 4_321), (0, 1), (0, 0)]


def test_the_newest_record_of_many_is_looked_for_elsewhere_too(broker: Broker) -> None:
    broker.create_topic("t")
    produce(broker, batch(MANY))
    broker.scheduler.hold = True
    waiting = ask(broker, MAX_TIMESTAMP)
    assert not waiting.is_answered
    broker.scheduler.release()
    assert offsets(waiting) == [(0, MANY - 1)]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_few_bytes_that_unpack_to_many_are_unpacked_elsewhere(broker: Broker, codec: Codec) -> None:
    broker.create_topic("t")
    produce(broker, build_batch([Record(0, NOW, None, bytes(1 << 20))], codec=codec))
    broker.scheduler.hold = True
    waiting = ask(broker, NOW)
    assert not waiting.is_answered
    broker.scheduler.release()
    assert offsets(waiting) == [(0, 0)]


@pytest.mark.parametrize("codec", list(Codec))
def test_small_batches_are_opened_on_the_spot(broker: Broker, codec: Codec) -> None:
    broker.create_topic("t", 9)
    for index in range(9):
        produce(broker, batch(100, codec=codec), index=index)
    broker.scheduler.hold = True
    assert offsets(ask(broker, *(NOW + index for index in range(9)))) == [
        (0, index) for index in range(9)
    ]


def test_a_search_goes_on_behind_a_batch_that_is_older_than_it_says(broker: Broker) -> None:
    broker.create_topic("t")
    for _ in range(3):
        produce(broker, claiming(batch(MANY), NOW + 60_000))
    produce(broker, batch(timestamp=NOW + 50_000))
    assert offsets(ask(broker, NOW + 40_000)) == [(0, 3 * MANY)]
    assert offsets(ask(broker, NOW + 55_000)) == [(0, -1)]


def have_long_searches(broker: Broker) -> None:
    """A topic with twenty batches that claim to be newer than the one that is looked for."""
    broker.create_topic("t")
    for _ in range(20):
        produce(broker, claiming(batch(), NOW + 60_000))
    produce(broker, batch(timestamp=NOW + 50_000))


def test_a_long_search_lets_others_have_turns(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    have_long_searches(broker)
    monkeypatch.setattr(broker.scheduler, "settle", lambda: None)
    waiting = ask(broker, NOW + 40_000)
    turns = 0
    while not waiting.is_answered:
        assert list_offset(broker, LATEST).offset == 21
        broker.scheduler.turn()
        turns += 1
    assert turns > 3
    assert offsets(waiting) == [(0, 20)]


def test_long_searches_of_many_clients_take_as_much_of_a_turn_as_one(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    have_long_searches(broker)
    monkeypatch.setattr(broker.scheduler, "settle", lambda: None)
    steps = 0

    def counted(candidate: Candidate, limit: int) -> Opened:
        nonlocal steps
        steps += 1
        return open_candidate(candidate, limit)

    monkeypatch.setattr(time_lookups, "open_candidate", counted)
    waiting = [ask(broker, NOW + 40_000) for _ in range(10)]
    assert steps == 4
    while not all(one.is_answered for one in waiting):
        before = steps
        broker.scheduler.turn()
        assert steps - before <= 4
    assert [offsets(one) for one in waiting] == [[(0, 20)]] * 10


def test_a_lookup_that_goes_wrong_is_an_error_and_the_others_go_on(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broker.create_topic("t", 3)
    for index in range(3):
        for _ in range(8):
            produce(broker, claiming(batch(), NOW + 60_000), index=index)
        produce(broker, batch(timestamp=NOW + 50_000), index=index)
    count = 0

    def faulty(candidate: Candidate, limit: int) -> Opened:
        nonlocal count
        count += 1
        if count == 6:  # not in the first turn
            raise ZeroDivisionError
        return open_candidate(candidate, limit)

    monkeypatch.setattr(time_lookups, "open_candidate", faulty)
    waiting = ask(broker, NOW + 40_000, NOW + 40_000, NOW + 40_000)
    assert offsets(waiting) == [(ErrorCode.UNKNOWN_SERVER_ERROR, -1), (0, 8), (0, 8)]
    assert "a lookup in t-0 failed" in caplog.text


def test_a_batch_whose_size_cannot_be_told_costs_its_lookup_alone(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.create_topic("t", 2)
    produce(broker, batch(), index=1)
    produce(broker, batch())

    def failing(candidate: Candidate) -> bool:
        raise IndexError(candidate.start_offset)

    with monkeypatch.context() as patch:
        patch.setattr(Candidate, "is_small", property(failing))
        assert offsets(ask(broker, NOW, LATEST)) == [(ErrorCode.UNKNOWN_SERVER_ERROR, -1), (0, 1)]
    assert offsets(ask(broker, NOW)) == [(0, 0)]


def test_a_search_ends_with_its_partition(broker: Broker) -> None:
    broker.create_topic("t", 2)
    for index in range(2):
        produce(broker, claiming(batch(MANY), NOW + 60_000), index=index)
        produce(broker, batch(timestamp=NOW + 50_000), index=index)
    broker.scheduler.hold = True
    waiting = ask(broker, NOW + 40_000, NOW + 40_000)
    broker.partitions.remove("t", 0)
    while not waiting.is_answered:
        broker.scheduler.release()
    assert offsets(waiting) == [(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1), (0, MANY)]


def test_a_batch_that_cannot_be_opened_now_is_an_error_and_the_others_are_looked_up(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.create_topic("t", 2)
    produce(broker, batch(MANY))
    produce(broker, batch(3), index=1)
    error = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
    monkeypatch.setattr(harness, "open_candidate", lambda candidate: error)
    assert offsets(ask(broker, NOW + 4_321, NOW + 1)) == [
        (ErrorCode.KAFKA_STORAGE_ERROR, -1),
        (0, 1),
    ]


def test_a_search_ends_when_its_client_has_gone(broker: Broker) -> None:
    broker.create_topic("t")
    for _ in range(2):
        produce(broker, claiming(batch(MANY), NOW + 60_000))
    broker.scheduler.hold = True
    waiting = ask(broker, NOW + 40_000)
    assert waiting.parked is not None
    waiting.parked.abandon()
    broker.scheduler.release()
    assert not broker.scheduler.held
    assert not waiting.is_answered
