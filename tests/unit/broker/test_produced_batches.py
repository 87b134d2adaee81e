"""Produce: batches that are not sound, batches that are looked into, batches sent again."""

from pathlib import Path

import pytest

from headrace.base.errors import ErrorCode
from headrace.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from headrace.records.batch import MAX_TIMESTAMP_POSITION, stamp_crc
from headrace.records.builder import build_batch
from headrace.records.codecs import Codec
from headrace.records.reader import read_batch
from headrace.records.record import Record
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
from tests.unit.broker.batches import records as some_records
from tests.unit.broker.harness import Broker

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
    assert broker.metrics.topic("t").bytes_rejected == limit + 1


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
    assert broker.metrics.keyless_records == 2
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


def test_deep_validation_names_every_record_from_another_age(tmp_path: Path) -> None:
    broker = Broker(tmp_path, overrides={"headrace.produce.validation": "deep"})
    broker.create_topic("t", message_timestamp_before_max_ms="5000")
    broker.create_topic("stamped", message_timestamp_type="LogAppendTime")
    times = (NOW, NOW + 3_600_000, NOW + 3_600_001, -1, NOW - 5_000, NOW - 5_001, NOW)
    data = build_batch([Record(n, time, b"k", b"v") for n, time in enumerate(times)])
    data[MAX_TIMESTAMP_POSITION : MAX_TIMESTAMP_POSITION + 8] = NOW.to_bytes(8, "big")
    stamp_crc(data, 0, len(data))
    result = produce(broker, data)
    assert result.error_code == ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in result.record_errors] == [2, 5]
    assert broker.metrics.keyless_records == 0
    assert end_offset(broker) == 0
    assert produce(broker, data, "stamped").error_code == ErrorCode.NONE
    broker.close()


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_a_large_batch_is_looked_into_elsewhere_however_few_its_records(
    broker: Broker, codec: Codec
) -> None:
    broker.create_topic("t", compression_type="zstd")
    broker.scheduler.hold = True
    data = batch(value=bytes(100_000), codec=codec)
    waiting = broker.send(produce_request(("t", 0, data)), PRODUCE_BY_NAME)
    assert not waiting.is_answered
    assert produce(broker, batch(64)).error_code == ErrorCode.NONE
    broker.scheduler.release()
    assert waiting.response.responses[0].partition_responses[0].error_code == ErrorCode.NONE


def test_many_small_batches_together_are_not_all_looked_into_on_the_spot(broker: Broker) -> None:
    broker.create_topic("t", 10, compression_type="zstd")
    broker.scheduler.hold = True
    data = batch(value=bytes(2_000))
    waiting = broker.send(
        produce_request(*(("t", index, data) for index in range(10))), PRODUCE_BY_NAME
    )
    assert not waiting.is_answered
    assert len(broker.scheduler.held) == 3
    broker.scheduler.release()
    results = waiting.response.responses[0].partition_responses
    assert [result.error_code for result in results] == [ErrorCode.NONE] * 10


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
