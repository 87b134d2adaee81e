"""Produce, from the request's bytes to the log and back."""

from pathlib import Path
from typing import Any

import pytest

from headrace.base.errors import ErrorCode
from headrace.broker.parked import Close
from headrace.log.errors import LogDirFailure
from headrace.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from headrace.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from headrace.records.batch import BatchHeader, check_batch, read_header, stamp_crc
from headrace.records.builder import build_batch
from headrace.records.codecs import Codec
from headrace.records.reader import read_batch
from headrace.records.record import Record
from headrace.replication.partition import Leadership
from tests.unit.broker.batches import NOW, PRODUCE_BY_NAME, batch, fetch, produce, produce_request
from tests.unit.broker.batches import records as some_records
from tests.unit.broker.harness import Broker, DenyAll

VERSIONS = range(3, 14)


def stored(broker: Broker, topic: str = "t", index: int = 0) -> list[BatchHeader]:
    """The batches of a partition, each one sound."""
    log = broker.partition(topic, index).log
    found = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        data = log.read(offset, 1, end_offset=log.log_end_offset)
        header = read_header(data)
        check_batch(data, 0, header)
        found.append(header)
        offset = header.next_offset
    return found


def end_offset(broker: Broker, topic: str = "t", index: int = 0) -> int:
    return broker.partition(topic, index).log.log_end_offset


def damaged(data: bytearray, position: int, value: int, *, sound_crc: bool = False) -> bytearray:
    data[position] = value
    if sound_crc:
        stamp_crc(data, 0, len(data))
    return data


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


# What is not sound


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (None, ErrorCode.INVALID_RECORD),
        (b"", ErrorCode.INVALID_RECORD),
        (b"x" * 10, ErrorCode.INVALID_RECORD),
        (bytes(100), ErrorCode.CORRUPT_MESSAGE),
        (batch(3)[:-1], ErrorCode.INVALID_RECORD),
        (batch() + batch(), ErrorCode.INVALID_RECORD),
        (damaged(batch(), 16, 1), ErrorCode.INVALID_RECORD),
        (damaged(batch(), 16, 0), ErrorCode.INVALID_RECORD),
        (damaged(batch(), 16, 3), ErrorCode.CORRUPT_MESSAGE),
        (damaged(batch(), 65, 0xEE), ErrorCode.CORRUPT_MESSAGE),
        (damaged(batch(), 17, 0xEE), ErrorCode.CORRUPT_MESSAGE),
        (damaged(batch(), 8, 0x7F), ErrorCode.INVALID_RECORD),
        (damaged(batch(), 7, 1), ErrorCode.INVALID_RECORD),
        (damaged(batch(), 60, 2, sound_crc=True), ErrorCode.INVALID_RECORD),
        (damaged(batch(), 26, 5, sound_crc=True), ErrorCode.INVALID_RECORD),
        (damaged(batch(), 22, 0x20, sound_crc=True), ErrorCode.INVALID_RECORD),
        (damaged(batch(), 22, 7, sound_crc=True), ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        (damaged(batch(), 22, 0x08, sound_crc=True), ErrorCode.INVALID_TIMESTAMP),
        (batch(transactional=True, producer_id=5, producer_epoch=0, base_sequence=0), None),
        (batch(producer_id=5, producer_epoch=0, base_sequence=-1), ErrorCode.INVALID_RECORD),
    ],
    ids=[
        "null",
        "empty",
        "too short for anything",
        "zeros",
        "cut off",
        "two batches",
        "magic 1",
        "magic 0",
        "magic 3",
        "flipped bit",
        "wrong crc",
        "impossible length",
        "base offset",
        "record count",
        "offset delta",
        "control batch",
        "unknown codec",
        "append time",
        "transactional",
        "no sequence",
    ],
)
def test_an_unsound_batch_is_refused_with_kafkas_code_and_the_log_stays_as_it_is(
    broker: Broker, data: bytes | None, code: ErrorCode | None
) -> None:
    broker.create_topic("t")
    result = produce(broker, data)
    assert result.error_code != ErrorCode.NONE
    if code is not None:
        assert ErrorCode(result.error_code) == code
    assert end_offset(broker) == 0
    assert produce(broker, batch()).base_offset == 0


def test_a_batch_larger_than_the_topic_allows_is_too_large(broker: Broker) -> None:
    limit = len(batch(value=b"x" * 500))
    broker.create_topic("t", max_message_bytes=str(limit))
    assert produce(broker, batch(value=b"x" * 500)).error_code == ErrorCode.NONE
    result = produce(broker, batch(value=b"x" * 501))
    assert result.error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert end_offset(broker) == 1


def test_zstd_needs_a_version_that_knows_it(broker: Broker) -> None:
    broker.create_topic("t")
    data = batch(codec=Codec.ZSTD)
    assert produce(broker, data, version=6).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert produce(broker, data, version=7).error_code == ErrorCode.NONE


def test_timestamps_too_far_from_now_are_refused(broker: Broker) -> None:
    broker.create_topic(
        "t", message_timestamp_after_max_ms="1000", message_timestamp_before_max_ms="5000"
    )
    for timestamp, code in (
        (NOW + 1_000, ErrorCode.NONE),
        (NOW + 1_001, ErrorCode.INVALID_TIMESTAMP),
        (NOW - 5_000, ErrorCode.NONE),
        (NOW - 5_001, ErrorCode.INVALID_TIMESTAMP),
        (-1, ErrorCode.NONE),
    ):
        assert produce(broker, batch(timestamp=timestamp)).error_code == code, timestamp


def test_clients_do_not_write_to_internal_topics(broker: Broker) -> None:
    topic = CreatableTopic(name="__consumer_offsets", num_partitions=1, replication_factor=1)
    broker.ask(CreateTopicsRequest(topics=[topic], timeout_ms=1_000))
    result = produce(broker, batch(), "__consumer_offsets")
    assert result.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert end_offset(broker, "__consumer_offsets") == 0


# Looking into batches


def test_a_compacted_topic_takes_no_record_without_a_key(broker: Broker) -> None:
    broker.create_topic("t", cleanup_policy="compact")
    assert produce(broker, batch(key=b"k")).error_code == ErrorCode.NONE
    assert produce(broker, batch(key=None)).error_code == ErrorCode.INVALID_RECORD
    mixed = batch(2, key=None, codec=Codec.GZIP)
    assert produce(broker, mixed).error_code == ErrorCode.INVALID_RECORD
    assert end_offset(broker) == 1


def test_every_record_without_a_key_is_named(broker: Broker) -> None:
    broker.create_topic("t", cleanup_policy="compact")
    mixed = [Record(n, NOW, None if n % 2 else b"k", b"v", []) for n in range(5)]
    result = produce(broker, build_batch(mixed))
    assert [error.batch_index for error in result.record_errors] == [1, 3]
    assert all(error.batch_index_error_message for error in result.record_errors)
    crowd = produce(broker, batch(5_000, key=None, codec=Codec.ZSTD))
    assert len(crowd.record_errors) == 1_000


def test_a_topic_that_also_deletes_needs_keys_as_well(broker: Broker) -> None:
    broker.create_topic("t", cleanup_policy="compact,delete")
    assert produce(broker, batch(key=None)).error_code == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("wanted", ["gzip", "snappy", "lz4", "zstd", "uncompressed"])
@pytest.mark.parametrize("sent", [Codec.NONE, Codec.GZIP, Codec.ZSTD])
def test_batches_are_written_with_the_topics_codec(
    broker: Broker, wanted: str, sent: Codec
) -> None:
    broker.create_topic("t", compression_type=wanted)
    data = batch(100, value=b"x" * 50, codec=sent)
    assert produce(broker, data).error_code == ErrorCode.NONE
    (header,) = stored(broker)
    assert header.codec == (0 if wanted == "uncompressed" else Codec[wanted.upper()])
    assert (header.base_offset, header.record_count, header.max_timestamp) == (0, 100, NOW + 99)
    read = read_batch(fetch(broker).records or b"")
    assert [record.value for record in read] == [
        r.value for r in some_records(100, value=b"x" * 50)
    ]


def test_a_batch_that_grows_beyond_the_limit_with_its_new_codec_is_too_large(
    broker: Broker,
) -> None:
    broker.create_topic("t", compression_type="uncompressed", max_message_bytes="2000")
    data = batch(10, value=b"x" * 1_000, codec=Codec.GZIP)
    assert len(data) < 2_000
    assert produce(broker, data).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert end_offset(broker) == 0


def test_a_request_waits_while_its_batch_is_looked_into_elsewhere(broker: Broker) -> None:
    broker.create_topic("t", compression_type="lz4")
    broker.create_topic("plain")
    broker.scheduler.hold = True
    waiting = broker.send(
        produce_request(("t", 0, batch(100)), ("plain", 0, batch())), PRODUCE_BY_NAME
    )
    assert not waiting.is_answered
    assert end_offset(broker, "plain") == 0
    broker.scheduler.release()
    results = [topic.partition_responses[0] for topic in waiting.response.responses]
    assert [result.error_code for result in results] == [0, 0]
    assert (end_offset(broker), end_offset(broker, "plain")) == (100, 1)


def test_records_that_do_not_decompress_are_refused_where_they_are_looked_into(
    broker: Broker,
) -> None:
    broker.create_topic("t", compression_type="lz4")
    broker.create_topic("plain")
    data = batch(50, value=b"y" * 50, codec=Codec.ZSTD)
    data[100:110] = bytes(10)
    stamp_crc(data, 0, len(data))
    assert produce(broker, data).error_code == ErrorCode.CORRUPT_MESSAGE
    # Where nothing asks for the inside it is passed on; see docs/GAPS.md.
    assert produce(broker, data, "plain").error_code == ErrorCode.NONE


def test_deep_validation_looks_into_every_batch(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"headrace.produce.validation": "deep"})
    broker.create_topic("t")
    data = batch(3)
    data[61] = 0x7F
    stamp_crc(data, 0, len(data))
    assert produce(broker, data).error_code in (
        ErrorCode.INVALID_RECORD,
        ErrorCode.CORRUPT_MESSAGE,
    )
    assert produce(broker, batch(3)).error_code == ErrorCode.NONE
    broker.close()


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


# Idempotence


def idempotent(sequence: int, count: int = 1, *, epoch: int = 0, producer_id: int = 9) -> bytearray:
    return batch(count, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)


def test_a_retry_is_answered_with_the_offsets_of_the_first_time(broker: Broker) -> None:
    broker.create_topic("t")
    assert produce(broker, idempotent(0, 3)).base_offset == 0
    assert produce(broker, idempotent(3, 2)).base_offset == 3
    for _ in range(2):
        again = produce(broker, idempotent(0, 3))
        assert (again.error_code, again.base_offset) == (ErrorCode.NONE, 0)
    assert end_offset(broker) == 5
    assert broker.metrics.topic("t").messages_in == 5


def test_a_gap_in_the_sequence_is_out_of_order(broker: Broker) -> None:
    broker.create_topic("t")
    produce(broker, idempotent(0, 3))
    for sequence in (4, 100, 1):
        result = produce(broker, idempotent(sequence))
        assert result.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert produce(broker, idempotent(3)).error_code == ErrorCode.NONE


def test_an_older_epoch_of_a_producer_is_fenced(broker: Broker) -> None:
    broker.create_topic("t")
    produce(broker, idempotent(0, epoch=3))
    assert produce(broker, idempotent(1, epoch=2)).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert produce(broker, idempotent(0, epoch=4)).error_code == ErrorCode.NONE


def test_producers_do_not_meet_across_partitions(broker: Broker) -> None:
    broker.create_topic("t", 2)
    assert produce(broker, idempotent(0), index=0).error_code == ErrorCode.NONE
    assert produce(broker, idempotent(0), index=1).base_offset == 0
    assert produce(broker, idempotent(0, producer_id=10), index=0).base_offset == 1


def test_a_retry_keeps_its_offsets_when_batches_are_written_anew(broker: Broker) -> None:
    broker.create_topic("t", compression_type="gzip")
    for _ in range(2):
        assert produce(broker, idempotent(0, 200)).base_offset == 0
    assert end_offset(broker) == 200


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
