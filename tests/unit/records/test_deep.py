import tracemalloc

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records.batch import check_batch, read_header, stamp_append_time
from headrace.records.builder import build_batch
from headrace.records.codecs import Codec
from headrace.records.control import ControlType, control_batch
from headrace.records.deep import (
    RECORD_ERRORS_MAX,
    RefusedRecordsError,
    recompress,
    validate_deep,
)
from headrace.records.reader import read_batch
from headrace.records.record import Record
from tests.unit.records.samples import CODECS, keyed_records, renew_crc, some_records


@pytest.mark.parametrize("codec", CODECS)
def test_sound_batches_pass(codec: int) -> None:
    validate_deep(build_batch(some_records(20), codec=codec), key_required=False)
    validate_deep(build_batch(keyed_records(20), codec=codec), key_required=True)


def test_records_without_key_are_refused_one_by_one() -> None:
    with pytest.raises(RefusedRecordsError) as caught:
        validate_deep(build_batch(some_records(10)), key_required=True)
    assert caught.value.code is ErrorCode.INVALID_RECORD
    assert [error.batch_index for error in caught.value.record_errors] == [1, 5, 9]


def test_timestamps_out_of_range_are_refused_but_none_at_all_is_not() -> None:
    records = [Record(index, time, b"k", b"v") for index, time in enumerate((100, -1, 99, 201))]
    with pytest.raises(RefusedRecordsError) as caught:
        validate_deep(build_batch(records), key_required=True, timestamps_between=(100, 200))
    assert caught.value.code is ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in caught.value.record_errors] == [2, 3]


def test_bad_times_outweigh_missing_keys_and_a_record_has_one_fault() -> None:
    records = [
        Record(index, time, key, b"v")
        for index, (time, key) in enumerate([(100, None), (300, None), (300, b"k"), (100, b"k")])
    ]
    with pytest.raises(RefusedRecordsError) as caught:
        validate_deep(build_batch(records), key_required=True, timestamps_between=(100, 200))
    assert caught.value.code is ErrorCode.INVALID_TIMESTAMP
    told = [(error.batch_index, error.message[:9]) for error in caught.value.record_errors]
    assert told == [(0, "Compacted"), (1, "Compacted"), (2, "Timestamp")]


def test_append_time_is_not_held_against_a_producer() -> None:
    batch = build_batch(keyed_records(3), append_time=999)
    validate_deep(batch, key_required=True, timestamps_between=(100, 200))


def test_no_more_faults_are_kept_than_anybody_reads() -> None:
    records = [Record(index, 0, None, b"v") for index in range(3 * RECORD_ERRORS_MAX)]
    with pytest.raises(RefusedRecordsError) as caught:
        validate_deep(build_batch(records, codec=Codec.ZSTD), key_required=True)
    assert len(caught.value.record_errors) == RECORD_ERRORS_MAX


def test_records_are_looked_at_without_being_kept() -> None:
    records = [Record(index, 0, None, None) for index in range(50_000)]
    batch = build_batch(records, codec=Codec.LZ4)
    unpacked = len(build_batch(records))
    del records
    tracemalloc.start()
    try:
        validate_deep(batch, key_required=False)
        recompress(batch, Codec.GZIP)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 6 * unpacked


def test_offsets_with_gaps_are_refused() -> None:
    batch = build_batch([Record(0, 0, b"k", b"v"), Record(2, 0, b"k", b"v")])
    with pytest.raises(KafkaError) as caught:
        validate_deep(batch, key_required=False)
    assert caught.value.code is ErrorCode.INVALID_RECORD


def test_an_inside_that_lies_is_refused() -> None:
    for position in range(61, 75):
        batch = build_batch([Record(0, 0, b"key", b"value")])
        if position >= len(batch) - 1:
            break
        batch[position] ^= 0x10
        if position in (62, 63) or 66 <= position < 69 or 70 <= position < 75:
            continue  # attributes, timestamp, and the bytes of key and value may be anything
        with pytest.raises(KafkaError) as caught:
            validate_deep(renew_crc(batch), key_required=False)
        assert caught.value.code is ErrorCode.INVALID_RECORD


def test_bytes_behind_the_batch_are_refused() -> None:
    batch = build_batch(some_records(3))
    with pytest.raises(KafkaError):
        validate_deep(batch + batch, key_required=False)


@pytest.mark.parametrize("source", CODECS)
@pytest.mark.parametrize("target", CODECS)
def test_recompression_keeps_everything_but_the_codec(source: int, target: int) -> None:
    records = some_records(30, 70)
    batch = build_batch(
        records,
        base_offset=70,
        codec=source,
        leader_epoch=2,
        producer_id=8,
        producer_epoch=1,
        base_sequence=5,
        transactional=True,
    )
    after = recompress(batch, target)
    header = read_header(after)
    check_batch(after, 0, header)
    assert header.codec == target
    assert header.is_transactional
    assert (header.base_offset, header.last_offset, header.leader_epoch) == (70, 99, 2)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (8, 1, 5)
    assert read_batch(after) == records


def test_recompression_corrects_the_largest_timestamp() -> None:
    batch = build_batch([Record(0, 5, b"k", b"v"), Record(1, 3, b"k", b"v")])
    batch[35:43] = (999).to_bytes(8, "big")
    after = recompress(renew_crc(batch), Codec.GZIP, 9)
    assert read_header(after).max_timestamp == 5


def test_recompression_keeps_append_time_and_control_flags() -> None:
    batch = build_batch(some_records(3))
    stamp_append_time(batch, 0, 77)
    assert read_header(recompress(batch, Codec.ZSTD)).max_timestamp == 77
    control = control_batch(ControlType.LEADER_CHANGE, b"v", timestamp=1)
    assert read_header(recompress(control, Codec.LZ4)).is_control


def test_recompression_refuses_a_damaged_batch() -> None:
    for append_time in (None, 5):
        batch = build_batch(some_records(3), append_time=append_time)
        batch[-1] ^= 1
        with pytest.raises(KafkaError) as caught:
            recompress(batch, Codec.GZIP)
        assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
