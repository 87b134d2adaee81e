import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records.batch import MAGIC_POSITION, Buffer
from headrace.records.builder import build_batch
from headrace.records.control import ControlType, control_batch
from headrace.records.produced import check_produce
from tests.unit.records.samples import CODECS, renew_crc, some_records


def refusal(buffer: Buffer) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        check_produce(buffer)
    return caught.value.code


def with_field(position: int, size: int, value: int) -> bytearray:
    batch = build_batch(some_records(3), producer_id=9, producer_epoch=0, base_sequence=0)
    batch[position : position + size] = value.to_bytes(size, "big", signed=True)
    return renew_crc(batch)


@pytest.mark.parametrize("codec", CODECS)
def test_a_sound_batch_of_any_codec_is_accepted(codec: int) -> None:
    batch = build_batch(some_records(3), codec=codec)
    assert check_produce(batch).record_count == 3
    assert check_produce(memoryview(bytes(batch))).size == len(batch)


def test_idempotent_and_transactional_batches_are_accepted() -> None:
    batch = build_batch(
        some_records(3), producer_id=7, producer_epoch=1, base_sequence=0, transactional=True
    )
    assert check_produce(batch).is_transactional


@pytest.mark.parametrize("size", [0, 1, 11, 12, 17, 60])
def test_less_than_a_header_is_no_batch(size: int) -> None:
    assert refusal(bytes(build_batch(some_records(3)))[:size]) is ErrorCode.INVALID_RECORD


def test_a_batch_longer_than_its_bytes_is_no_batch() -> None:
    assert refusal(build_batch(some_records(3))[:-1]) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("length", [-1, 0, 13])
def test_a_length_below_any_message_is_corrupt(length: int) -> None:
    assert refusal(with_field(8, 4, length)) is ErrorCode.CORRUPT_MESSAGE


def test_a_length_below_the_header_is_corrupt() -> None:
    assert refusal(with_field(8, 4, 48)) is ErrorCode.CORRUPT_MESSAGE


def test_old_formats_are_invalid_and_unknown_ones_corrupt() -> None:
    batch = build_batch(some_records(3))
    for magic, code in (
        (0, ErrorCode.INVALID_RECORD),
        (1, ErrorCode.INVALID_RECORD),
        (3, ErrorCode.CORRUPT_MESSAGE),
        (0xFF, ErrorCode.CORRUPT_MESSAGE),
    ):
        batch[MAGIC_POSITION] = magic
        assert refusal(batch) is code


def test_a_bad_checksum_is_corrupt() -> None:
    batch = build_batch(some_records(3))
    batch[-1] ^= 1
    assert refusal(batch) is ErrorCode.CORRUPT_MESSAGE


def test_a_second_batch_is_invalid_but_a_cut_off_tail_is_not() -> None:
    batch = build_batch(some_records(3))
    assert refusal(batch + batch) is ErrorCode.INVALID_RECORD
    assert check_produce(batch + batch[:-1]).size == len(batch)
    assert check_produce(batch + b"\x00").size == len(batch)


def test_a_base_offset_other_than_zero_is_invalid() -> None:
    assert refusal(build_batch(some_records(3, 5), base_offset=5)) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize(("delta", "count"), [(2, 2), (3, 3), (-1, 0), (2, 0), (2, 4), (-5, 3)])
def test_records_and_offsets_must_agree_in_number(delta: int, count: int) -> None:
    batch = build_batch(some_records(3))
    batch[23:27] = delta.to_bytes(4, "big", signed=True)
    batch[57:61] = count.to_bytes(4, "big", signed=True)
    assert refusal(renew_crc(batch)) is ErrorCode.INVALID_RECORD


def test_control_records_from_a_client_are_invalid() -> None:
    batch = control_batch(ControlType.LEADER_CHANGE, b"", timestamp=1)
    assert refusal(batch) is ErrorCode.INVALID_RECORD


def test_log_append_time_is_not_the_producers_to_set() -> None:
    assert refusal(build_batch(some_records(3), append_time=5)) is ErrorCode.INVALID_TIMESTAMP


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_an_unknown_codec_is_refused(codec: int) -> None:
    assert refusal(with_field(21, 2, codec)) is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


def test_unused_attribute_bits_are_let_through_as_kafka_does() -> None:
    assert check_produce(with_field(21, 2, 0x0100)).record_count == 3
    assert check_produce(with_field(21, 2, -0x8000)).record_count == 3


def test_a_producer_id_needs_a_sequence() -> None:
    assert refusal(with_field(53, 4, -1)) is ErrorCode.INVALID_RECORD


def test_a_transactional_batch_needs_a_producer_id() -> None:
    assert refusal(build_batch(some_records(3), transactional=True)) is ErrorCode.INVALID_RECORD
