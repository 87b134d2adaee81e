import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records.batch import read_header
from headrace.records.builder import build_batch
from headrace.records.codecs import Codec
from headrace.records.reader import read_batch, read_records
from headrace.records.record import Record
from tests.unit.records.samples import (
    CODECS,
    record_lists,
    renew_crc,
    some_records,
    three_batches,
)


def refusal(batch: bytearray) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        read_batch(batch)
    return caught.value.code


def with_payload(payload: bytes, count: int = 1) -> bytearray:
    """A sound header over whatever records."""
    batch = build_batch([Record(index, 0, None, None) for index in range(count)])
    batch[61:] = payload
    batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
    return renew_crc(batch)


@given(records=record_lists(), codec=st.sampled_from(CODECS))
def test_records_come_back_from_any_codec(records: list[Record], codec: int) -> None:
    batch = build_batch(records, codec=codec)
    assert read_batch(batch) == records
    assert read_header(batch).max_timestamp == max(r.timestamp for r in records)


@given(records=record_lists(base_offset=1 << 40, gaps=True))
def test_offsets_with_gaps_come_back(records: list[Record]) -> None:
    batch = build_batch(records, base_offset=1 << 40)
    assert read_batch(batch) == records
    assert read_header(batch).last_offset == records[-1].offset


def test_all_header_fields_are_set() -> None:
    batch = build_batch(
        some_records(4, 50),
        base_offset=50,
        leader_epoch=3,
        producer_id=77,
        producer_epoch=2,
        base_sequence=900,
        transactional=True,
        control=True,
        append_time=123,
    )
    header = read_header(batch)
    assert (header.base_offset, header.last_offset, header.record_count) == (50, 53, 4)
    assert (header.leader_epoch, header.producer_id, header.producer_epoch) == (3, 77, 2)
    assert (header.base_sequence, header.last_sequence) == (900, 903)
    assert header.is_transactional
    assert header.is_control
    assert header.uses_append_time
    assert {record.timestamp for record in read_batch(batch)} == {123}


def test_a_batch_needs_records_whose_offsets_rise() -> None:
    for records in ([], some_records(2, 5), [Record(0, 0, None, None)] * 2):
        with pytest.raises(KafkaError):
            build_batch(records, base_offset=6)


def test_all_batches_of_a_buffer_are_read() -> None:
    assert [record.offset for record in read_records(three_batches(Codec.LZ4))] == list(
        range(100, 130)
    )


def test_a_header_name_with_bad_bytes_is_mended_not_refused() -> None:
    batch = build_batch([Record(0, 0, b"k", b"v", [("name", b"x")])])
    position = batch.index(b"name")
    batch[position] = 0xFF
    [record] = read_batch(renew_crc(batch))
    assert record.headers == [("\ufffdame", b"x")]


def test_fields_of_other_negative_lengths_are_null_as_in_java() -> None:
    [record] = read_batch(with_payload(b"\x0c\x00\x00\x00\x03\x05\x00"))
    assert (record.key, record.value) == (None, None)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\x0c\x00\x00\x00\x01\x01",  # cut off
        b"\x0a\x00\x00\x00\x01\x01\x00",  # length one short
        b"\x0e\x00\x00\x00\x01\x01\x00",  # length one long
        b"\x01\x00\x00\x00\x01\x01\x00",  # length -1
        b"\x0c\x00\x00\x00\x01\x01\x00\x00",  # a byte left over
        b"\x0c\x00\x00\x02\x01\x01\x00",  # offset delta beyond the batch's
        b"\x0c\x00\x00\x01\x01\x01\x00",  # offset delta -1
        b"\x0c\x00\x00\x00\x08\x01\x00",  # key longer than the record
        b"\x0c\x00\x00\x00\x01\x08\x00",  # value longer than the record
        b"\x0c\x00\x00\x00\x01\x01\x02",  # a header that is not there
        b"\x0c\x00\x00\x00\x01\x01\x01",  # -1 headers
        b"\x10\x00\x00\x00\x01\x01\x02\x01\x00",  # a header without a name
        b"\x10\x00\x00\x00\x01\x01\x02\x00\x08",  # a header value beyond the record
        b"\x10\x00\x00\x00\x01\x01\x02\x08\x00",  # a header name beyond the record
        b"\x0c\x00\xff\xff\xff\xff\xff",  # numbers without end
        b"\xff\xff\xff\xff\x0f\x00\x00",
    ],
)
def test_malformed_records_are_invalid(payload: bytes) -> None:
    assert refusal(with_payload(payload)) is ErrorCode.INVALID_RECORD


def test_a_count_that_the_bytes_cannot_hold_is_invalid() -> None:
    batch = build_batch(some_records(3))
    batch[23:27] = (2**31 - 2).to_bytes(4, "big")
    batch[57:61] = (2**31 - 1).to_bytes(4, "big")
    assert refusal(renew_crc(batch)) is ErrorCode.INVALID_RECORD


def test_a_timestamp_beyond_64_bits_is_invalid() -> None:
    batch = build_batch([Record(0, 2**63 - 1, None, None), Record(1, 2**63 - 1, None, None)])
    batch[61 + 7 + 2] = 0x02
    assert refusal(renew_crc(batch)) is ErrorCode.INVALID_RECORD


def test_the_limit_bounds_what_a_batch_may_unpack_to() -> None:
    batch = build_batch([Record(0, 0, None, bytes(1 << 20))], codec=Codec.ZSTD)
    with pytest.raises(KafkaError) as caught:
        read_batch(batch, limit=1 << 20)
    assert caught.value.code is ErrorCode.MESSAGE_TOO_LARGE
