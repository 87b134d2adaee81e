import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records import columns, columns_numba
from headrace.records.batch import check_batch, read_header, stamp_append_time
from headrace.records.builder import build_batch
from headrace.records.codecs import Codec
from headrace.records.control import ControlType, control_batch
from headrace.records.deep import (
    Decoder,
    RefusedRecordsError,
    max_timestamp,
    recompress,
    validate_deep,
)
from headrace.records.reader import read_batch
from headrace.records.record import Record
from tests.unit.records.samples import CODECS, keyed_records, renew_crc, some_records

pytestmark = pytest.mark.parametrize(
    "decode", [columns.decode, columns_numba.decode], ids=["plain", "compiled"]
)


@pytest.mark.parametrize("codec", CODECS)
def test_sound_batches_pass(decode: Decoder, codec: int) -> None:
    validate_deep(build_batch(some_records(20), codec=codec), key_required=False, decode=decode)
    validate_deep(build_batch(keyed_records(20), codec=codec), key_required=True, decode=decode)


def test_records_without_key_are_refused_one_by_one(decode: Decoder) -> None:
    with pytest.raises(RefusedRecordsError) as caught:
        validate_deep(build_batch(some_records(10)), key_required=True, decode=decode)
    assert caught.value.code is ErrorCode.INVALID_RECORD
    assert [error.batch_index for error in caught.value.record_errors] == [1, 5, 9]


def test_timestamps_out_of_range_are_refused_but_none_at_all_is_not(decode: Decoder) -> None:
    records = [Record(index, time, b"k", b"v") for index, time in enumerate((100, -1, 99, 201))]
    with pytest.raises(RefusedRecordsError) as caught:
        validate_deep(
            build_batch(records), key_required=True, timestamps_between=(100, 200), decode=decode
        )
    assert caught.value.code is ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in caught.value.record_errors] == [2, 3]


def test_offsets_with_gaps_are_refused(decode: Decoder) -> None:
    batch = build_batch([Record(0, 0, b"k", b"v"), Record(2, 0, b"k", b"v")])
    with pytest.raises(KafkaError) as caught:
        validate_deep(batch, key_required=False, decode=decode)
    assert caught.value.code is ErrorCode.INVALID_RECORD


def test_an_inside_that_lies_is_refused(decode: Decoder) -> None:
    for position in range(61, 75):
        batch = build_batch([Record(0, 0, b"key", b"value")])
        if position >= len(batch) - 1:
            break
        batch[position] ^= 0x10
        if position in (62, 63) or 66 <= position < 69 or 70 <= position < 75:
            continue  # attributes, timestamp, and the bytes of key and value may be anything
        with pytest.raises(KafkaError) as caught:
            validate_deep(renew_crc(batch), key_required=False, decode=decode)
        assert caught.value.code is ErrorCode.INVALID_RECORD


def test_bytes_behind_the_batch_are_refused(decode: Decoder) -> None:
    batch = build_batch(some_records(3))
    with pytest.raises(KafkaError):
        validate_deep(batch + batch, key_required=False, decode=decode)


@pytest.mark.parametrize("source", CODECS)
@pytest.mark.parametrize("target", CODECS)
def test_recompression_keeps_everything_but_the_codec(
    decode: Decoder, source: int, target: int
) -> None:
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
    after = recompress(batch, target, decode=decode)
    header = read_header(after)
    check_batch(after, 0, header)
    assert header.codec == target
    assert header.is_transactional
    assert (header.base_offset, header.last_offset, header.leader_epoch) == (70, 99, 2)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (8, 1, 5)
    assert read_batch(after) == records


def test_recompression_corrects_the_largest_timestamp(decode: Decoder) -> None:
    batch = build_batch([Record(0, 5, b"k", b"v"), Record(1, 3, b"k", b"v")])
    batch[35:43] = (999).to_bytes(8, "big")
    after = recompress(renew_crc(batch), Codec.GZIP, 9, decode=decode)
    assert read_header(after).max_timestamp == 5


def test_recompression_keeps_append_time_and_control_flags(decode: Decoder) -> None:
    batch = build_batch(some_records(3))
    stamp_append_time(batch, 0, 77)
    assert read_header(recompress(batch, Codec.ZSTD, decode=decode)).max_timestamp == 77
    control = control_batch(ControlType.LEADER_CHANGE, b"v", timestamp=1)
    assert read_header(recompress(control, Codec.LZ4, decode=decode)).is_control


def test_recompression_refuses_a_damaged_batch(decode: Decoder) -> None:
    for append_time in (None, 5):
        batch = build_batch(some_records(3), append_time=append_time)
        batch[-1] ^= 1
        with pytest.raises(KafkaError) as caught:
            recompress(batch, Codec.GZIP, decode=decode)
        assert caught.value.code is ErrorCode.CORRUPT_MESSAGE


def test_the_first_record_with_the_largest_timestamp_is_found(decode: Decoder) -> None:
    records = [Record(10 + index, time, b"k", b"v") for index, time in enumerate((5, 9, 2, 9))]
    assert max_timestamp(build_batch(records, base_offset=10, codec=3), decode=decode) == (9, 11)
