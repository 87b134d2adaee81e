"""Produce, from the request's bytes to the log and back."""

from pathlib import Path
from typing import Any

import pytest

from headrace.base.errors import ErrorCode
from headrace.broker.parked import Close
from headrace.log.errors import LogDirFailure
from headrace.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from headrace.records.codecs import Codec
from headrace.records.reader import read_batch
from headrace.replication.partition import Leadership
from tests.unit.broker.batches import (
    NOW,
    PRODUCE_BY_NAME,
    batch,
    damaged,
    end_offset,
    fetch,
    produce,
    produce_request,
    stored,
)
from tests.unit.broker.fakes import DenyAll
from tests.unit.broker.harness import Broker

VERSIONS = range(3, 14)


# The plain way


@pytest.mark.parametrize("version", VERSIONS)
def test_offsets_are_given_in_order_in_every_version(broker: Broker, version: int) -> None:
    topic_id = broker.create_topic("t", 2)
    for expected in (0, 3, 6):
        request = produce_request(("t", 1, batch(3)))
        request.topic_data[0].topic_id = topic_id
        response = broker.ask(request, version)
        (topic,) = response.responses
        assert topic.topic_id == topic_id if version >= 13 else topic.name == "t"
        (result,) = topic.partition_responses
        assert (result.index, result.error_code) == (1, ErrorCode.NONE)
        assert (result.base_offset, result.log_append_time_ms) == (expected, -1)
    assert end_offset(broker, index=1) == 9
    assert end_offset(broker, index=0) == 0


def test_what_was_produced_is_what_is_fetched(broker: Broker) -> None:
    broker.create_topic("t")
    produce(broker, batch(2, value=b"first"))
    produce(broker, batch(1, value=b"second", codec=Codec.LZ4))
    data = fetch(broker)
    first = read_batch(data.records or b"")
    assert [record.value for record in first] == [b"0 first", b"1 first"]
    assert data.high_watermark == 3


def test_batches_are_stamped_with_offset_and_leader_epoch(broker: Broker) -> None:
    broker.create_topic("t")
    produce(broker, batch(2))
    produce(broker, batch(2))
    assert [(h.base_offset, h.leader_epoch) for h in stored(broker)] == [(0, 0), (2, 0)]


def test_one_bad_partition_costs_the_others_nothing(broker: Broker) -> None:
    broker.create_topic("t", 3)
    broker.create_topic("u")
    bad = damaged(batch(), 30, 77)
    request = produce_request(
        ("t", 0, batch()), ("t", 1, bad), ("t", 9, batch()), ("t", 2, batch()), ("u", 0, batch())
    )
    response = broker.ask(request, PRODUCE_BY_NAME)
    codes = [
        (topic.name, result.index, result.error_code)
        for topic in response.responses
        for result in topic.partition_responses
    ]
    assert codes == [
        ("t", 0, ErrorCode.NONE),
        ("t", 1, ErrorCode.CORRUPT_MESSAGE),
        ("t", 9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("t", 2, ErrorCode.NONE),
        ("u", 0, ErrorCode.NONE),
    ]
    assert broker.metrics.wrong_checksums == 1
    refused = response.responses[0].partition_responses[1]
    assert (refused.base_offset, refused.log_append_time_ms, refused.log_start_offset) == (
        -1,
        -1,
        -1,
    )


# Acks


def test_acks_0_gets_no_answer_but_the_records_are_there(broker: Broker) -> None:
    broker.create_topic("t")
    assert broker.ask(produce_request(("t", 0, batch(2)), acks=0), PRODUCE_BY_NAME) is None
    assert end_offset(broker) == 2


def test_acks_0_and_an_error_end_the_connection(broker: Broker) -> None:
    broker.create_topic("t")
    reply = broker.ask(produce_request(("nowhere", 0, batch()), acks=0), PRODUCE_BY_NAME)
    assert isinstance(reply, Close)
    assert "UNKNOWN_TOPIC_OR_PARTITION" in reply.reason


def test_acks_0_and_a_bug_of_ours_end_the_connection_too(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that nobody expects would be taken for that to the next request."""
    broker.create_topic("t")

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("headrace.broker.handlers.produce.ProducedBatch", fail)
    reply = broker.ask(produce_request(("t", 0, batch()), acks=0), PRODUCE_BY_NAME)
    assert isinstance(reply, Close)


@pytest.mark.parametrize("acks", [2, -2, 32767])
def test_other_acks_are_refused(broker: Broker, acks: int) -> None:
    broker.create_topic("t", 2)
    request = produce_request(("t", 0, batch()), ("t", 1, batch()), acks=acks)
    (topic,) = broker.ask(request, PRODUCE_BY_NAME).responses
    codes = [(result.index, result.error_code) for result in topic.partition_responses]
    assert codes == [(0, ErrorCode.INVALID_REQUIRED_ACKS), (1, ErrorCode.INVALID_REQUIRED_ACKS)]
    assert end_offset(broker) == 0


def test_acks_all_needs_enough_replicas_in_sync(broker: Broker) -> None:
    broker.create_topic("t", min_insync_replicas="2")
    broker.partition("t").lead_or_follow(Leadership(1, 1, (1, 2, 3), (1,), 1))
    assert produce(broker, batch(), acks=-1).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert produce(broker, batch(), acks=1).error_code == ErrorCode.NONE


def test_acks_all_waits_for_the_replicas_in_sync(broker: Broker) -> None:
    broker.create_topic("t")
    partition = broker.partition("t")
    partition.lead_or_follow(Leadership(1, 1, (1, 2), (1, 2), 1))
    waiting = broker.send(produce_request(("t", 0, batch()), acks=-1), PRODUCE_BY_NAME)
    assert not waiting.is_answered
    partition.lead_or_follow(Leadership(1, 1, (1, 2), (1,), 2))
    assert waiting.response.responses[0].partition_responses[0].base_offset == 0
    assert broker.scheduler.pending_timers == 0


def test_acks_all_gives_up_after_the_request_s_timeout_and_leaves_nothing_behind(
    broker: Broker,
) -> None:
    broker.create_topic("t")
    partition = broker.partition("t")
    partition.lead_or_follow(Leadership(1, 1, (1, 2), (1, 2), 1))
    request = produce_request(("t", 0, batch()), acks=-1, timeout_ms=30)
    waiting = broker.send(request, PRODUCE_BY_NAME)
    broker.advance(29)
    assert not waiting.is_answered
    broker.advance(1)
    (result,) = waiting.response.responses[0].partition_responses
    assert result.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert partition.replication_waiters == []
    assert broker.metrics.expired_produces == 1


def test_a_partition_led_by_another_node_names_its_leader(broker: Broker) -> None:
    broker.create_topic("t")
    broker.partition("t").lead_or_follow(Leadership(2, 5, (1, 2), (1, 2), 1))
    result = produce(broker, batch())
    assert result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (result.current_leader.leader_id, result.current_leader.leader_epoch) == (2, 5)


# What is not there


def test_an_unknown_topic_or_partition_is_said_to_be_unknown(broker: Broker) -> None:
    broker.create_topic("t")
    for topic, index in (("nowhere", 0), ("t", 1), ("t", -1)):
        result = produce(broker, batch(), topic, index)
        assert result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_an_unknown_topic_id_is_said_to_be_unknown(broker: Broker) -> None:
    topic_id = broker.create_topic("t")
    for unknown, index, code in (
        (b"\x07" * 16, 0, ErrorCode.UNKNOWN_TOPIC_ID),
        (bytes(16), 0, ErrorCode.UNKNOWN_TOPIC_ID),
        (topic_id, 4, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ):
        partition = PartitionProduceData(index=index, records=batch())
        data = TopicProduceData(topic_id=unknown, partition_data=[partition])
        (topic,) = broker.ask(ProduceRequest(acks=1, topic_data=[data]), 13).responses
        assert topic.topic_id == unknown
        assert topic.partition_responses[0].error_code == code


def test_a_partition_on_a_failed_disk_is_a_storage_error(broker: Broker) -> None:
    broker.create_topic("t", 2)
    broker.partitions.mark_offline("t", 1)
    assert produce(broker, batch(), index=1).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert produce(broker, batch(), index=0).error_code == ErrorCode.NONE


def test_a_disk_that_fails_during_an_append_is_a_storage_error(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.create_topic("t", 2)

    def fail(*_: object, **__: object) -> None:
        raise LogDirFailure(broker.directories[0].path, "writing", OSError(5, "broken"))

    monkeypatch.setattr("headrace.replication.partition.Partition.append", fail)
    assert produce(broker, batch()).error_code == ErrorCode.KAFKA_STORAGE_ERROR


# LogAppendTime


def test_log_append_time_replaces_what_the_producer_said(broker: Broker) -> None:
    broker.create_topic("t", message_timestamp_type="LogAppendTime")
    broker.clock.advance(12_345)
    result = produce(broker, batch(2, timestamp=5))
    assert result.log_append_time_ms == NOW + 12_345
    (header,) = stored(broker)
    assert header.uses_append_time
    assert header.max_timestamp == NOW + 12_345
    assert [r.timestamp for r in read_batch(fetch(broker).records or b"")] == [NOW + 12_345] * 2


# Flushing


def test_flush_messages_holds_the_answer_until_the_disk_has_the_records(broker: Broker) -> None:
    broker.create_topic("t", flush_messages="2")
    assert produce(broker, batch()).error_code == ErrorCode.NONE
    assert broker.partition("t").log.recovery_point == 0
    broker.scheduler.hold = True
    waiting = broker.send(produce_request(("t", 0, batch())), PRODUCE_BY_NAME)
    assert not waiting.is_answered
    broker.scheduler.release()
    assert waiting.response.responses[0].partition_responses[0].base_offset == 1
    assert broker.partition("t").log.recovery_point == 2


def test_a_duplicate_is_answered_no_sooner_than_its_original(broker: Broker) -> None:
    broker.create_topic("t", flush_messages="1")
    broker.scheduler.hold = True
    sent = batch(producer_id=7, producer_epoch=0, base_sequence=0)
    first, again = (
        broker.send(produce_request(("t", 0, bytearray(sent))), PRODUCE_BY_NAME) for _ in range(2)
    )
    assert not first.is_answered
    assert not again.is_answered
    broker.scheduler.release()
    for answer in (first, again):
        assert answer.response.responses[0].partition_responses[0].base_offset == 0
    assert end_offset(broker) == 1


def test_a_flush_that_fails_is_told_for_its_partition_only(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.create_topic("t", 2, flush_messages="1")
    broker.create_topic("plain")
    directory = broker.partition("t", 0).log.directory

    class Failing:
        def __init__(self, log: Any) -> None:
            self._fails = log.directory == directory
            self.finished = False

        def run(self) -> None: ...

        def finish(self) -> None:
            self.finished = True
            if self._fails:
                raise LogDirFailure(directory, "flushing", OSError(5, "broken"))

    made: list[Failing] = []

    def begin(log: Any, *_: object) -> Failing:
        made.append(Failing(log))
        return made[-1]

    monkeypatch.setattr("headrace.log.partition_log.PartitionLog.begin_flush", begin)
    request = produce_request(("t", 0, batch()), ("t", 1, batch()), ("plain", 0, batch()))
    response = broker.ask(request, PRODUCE_BY_NAME)
    codes = [r.error_code for topic in response.responses for r in topic.partition_responses]
    assert codes == [ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NONE, ErrorCode.NONE]
    assert all(flush.finished for flush in made)


# Access


def test_whoever_may_not_write_does_not_learn_what_exists(tmp_path: Path) -> None:
    broker = Broker(tmp_path, authorizer=DenyAll())
    broker.create_topic("t")
    for topic in ("t", "nowhere"):
        result = produce(broker, batch(), topic)
        assert result.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert end_offset(broker) == 0
    broker.close()


# Counting


def test_what_goes_in_is_counted(broker: Broker) -> None:
    broker.create_topic("t")
    data = batch(5)
    produce(broker, data)
    produce(broker, b"")
    metrics = broker.metrics.topic("t")
    assert (metrics.messages_in, metrics.bytes_in) == (5, len(data))
    assert (metrics.produces, metrics.failed_produces) == (1, 1)


def test_names_that_clients_make_up_are_not_remembered(broker: Broker) -> None:
    for number in range(50):
        produce(broker, batch(), f"nowhere-{number}")
    assert broker.metrics.topics == {}
