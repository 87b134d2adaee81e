import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records.batch import (
    HEADER_SIZE,
    BatchHeader,
    check_batch,
    iter_headers,
    read_header,
    stamp,
    stamp_append_time,
)
from headrace.records.builder import build_batch, frame_batch
from headrace.records.reader import read_batch
from tests.unit.records.samples import renew_crc, some_records, three_batches

# As aiokafka writes it: one record with key, value and a header.
FROM_AIOKAFKA = bytes.fromhex(
    "0000000000000000"  # base offset
    "0000003e"  # length
    "ffffffff"  # leader epoch
    "02"  # magic
    "e0ccdd6a"  # crc
    "0000"  # attributes
    "00000000"  # last offset delta
    "0000000000000005"  # base timestamp
    "0000000000000005"  # max timestamp
    "ffffffffffffffff"  # producer id
    "ffff"  # producer epoch
    "ffffffff"  # base sequence
    "00000001"  # record count
    "18000000026102620202780279"
)


def code_of(batch: bytes | bytearray, position: int = 0) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        check_batch(batch, position, read_header(batch, position))
    return caught.value.code


def test_every_header_field_is_read_from_its_place() -> None:
    batch = frame_batch(
        b"payload",
        base_offset=1 << 40,
        leader_epoch=7,
        attributes=0x7C,
        last_offset_delta=9,
        base_timestamp=1111,
        max_timestamp=2222,
        producer_id=1 << 33,
        producer_epoch=5,
        base_sequence=44,
        record_count=10,
    )
    header = read_header(bytearray(b"??") + batch, 2)
    assert (header.base_offset, header.last_offset, header.next_offset) == (
        1 << 40,
        (1 << 40) + 9,
        (1 << 40) + 10,
    )
    assert (header.size, header.batch_length) == (68, 56)
    assert (header.leader_epoch, header.magic, header.record_count) == (7, 2, 10)
    assert (header.base_timestamp, header.max_timestamp) == (1111, 2222)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (1 << 33, 5, 44)
    assert header.has_producer_id
    assert header.codec == 4
    assert header.is_transactional
    assert header.is_control
    assert header.uses_append_time
    assert header.has_delete_horizon


def test_a_batch_written_by_another_client_passes() -> None:
    check_batch(FROM_AIOKAFKA, 0, read_header(FROM_AIOKAFKA))
    [record] = read_batch(FROM_AIOKAFKA)
    assert (record.key, record.value, record.headers) == (b"a", b"b", [("x", b"y")])


@pytest.mark.parametrize(
    ("base", "delta", "last"),
    [(0, 4, 4), (-1, 4, -1), (2**31 - 1, 0, 2**31 - 1), (2**31 - 2, 3, 1)],
)
def test_sequences_wrap_at_the_largest_int32(base: int, delta: int, last: int) -> None:
    header = BatchHeader(FROM_AIOKAFKA)
    header.base_sequence, header.last_offset_delta = base, delta
    assert header.last_sequence == last


@pytest.mark.parametrize("make", [bytes, bytearray, memoryview])
def test_any_buffer_may_hold_the_batch(make: type) -> None:
    check_batch(make(FROM_AIOKAFKA), 0, read_header(make(FROM_AIOKAFKA)))


def test_any_flipped_bit_behind_the_crc_is_noticed() -> None:
    batch = build_batch(some_records(3))
    for position in range(21, len(batch)):
        damaged = bytearray(batch)
        damaged[position] ^= 1 << position % 8
        assert code_of(damaged) is ErrorCode.CORRUPT_MESSAGE


def test_a_batch_cut_short_is_corrupt() -> None:
    batch = build_batch(some_records(3))
    assert code_of(batch[:-1]) is ErrorCode.CORRUPT_MESSAGE
    with pytest.raises(KafkaError):
        read_header(batch[: HEADER_SIZE - 1])


@pytest.mark.parametrize("length", [-(2**31), -12, 0, 48, 2**31 - 1])
def test_an_impossible_length_is_corrupt(length: int) -> None:
    batch = build_batch(some_records(3))
    batch[8:12] = length.to_bytes(4, "big", signed=True)
    assert code_of(batch) is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    ("magic", "code"),
    [
        (0, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT),
        (1, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT),
        (3, ErrorCode.CORRUPT_MESSAGE),
        (255, ErrorCode.CORRUPT_MESSAGE),
    ],
)
def test_a_magic_other_than_two_is_refused(magic: int, code: ErrorCode) -> None:
    batch = build_batch(some_records(3))
    batch[16] = magic
    assert code_of(batch) is code


@pytest.mark.parametrize(("delta", "count"), [(-1, 1), (2, 4), (2, -1), (-(2**31), 0)])
def test_more_records_than_offsets_are_refused(delta: int, count: int) -> None:
    batch = build_batch(some_records(3))
    batch[23:27] = delta.to_bytes(4, "big", signed=True)
    batch[57:61] = count.to_bytes(4, "big", signed=True)
    assert code_of(renew_crc(batch)) is ErrorCode.INVALID_RECORD


def test_a_batch_that_compaction_emptied_passes() -> None:
    batch = frame_batch(
        b"", base_offset=5, leader_epoch=0, attributes=0, last_offset_delta=9, record_count=0
    )
    check_batch(batch, 0, read_header(batch))
    assert read_batch(batch) == []


def test_headers_of_whole_batches_are_found_and_a_partial_one_is_left_out() -> None:
    buffer = three_batches()
    found = [(header.base_offset, header.last_offset) for _, header in iter_headers(buffer)]
    assert found == [(100, 109), (110, 119), (120, 129)]
    positions = [position for position, _ in iter_headers(buffer)]
    for cut in (1, 60, 61, len(buffer) - positions[2] - 1):
        cut_headers = list(iter_headers(buffer[: positions[2] + cut]))
        assert [position for position, _ in cut_headers] == positions[:2]
    assert [position for position, _ in iter_headers(buffer, positions[1])] == positions[1:]
    assert [p for p, _ in iter_headers(buffer, 0, positions[2])] == positions[:2]


@pytest.mark.parametrize("length", [-62, -12, 0, 48])
def test_a_length_that_leads_nowhere_ends_the_walk_with_an_error(length: int) -> None:
    buffer = bytearray(three_batches())
    second = list(iter_headers(buffer))[1][0]
    buffer[second + 8 : second + 12] = length.to_bytes(4, "big", signed=True)
    with pytest.raises(KafkaError) as caught:
        list(iter_headers(buffer))
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE


def test_stamping_changes_offset_and_epoch_only_and_keeps_the_crc() -> None:
    batch = build_batch(some_records(3))
    buffer = bytearray(b"ab") + batch
    stamp(memoryview(buffer), 2, 1 << 41, 12)
    header = read_header(buffer, 2)
    assert (header.base_offset, header.leader_epoch) == (1 << 41, 12)
    check_batch(buffer, 2, header)
    assert buffer[2 + 16 :] == batch[16:]
    assert [record.offset - (1 << 41) for record in read_batch(buffer, 2)] == [0, 1, 2]


def test_append_time_takes_the_place_of_every_timestamp() -> None:
    buffer = bytearray(b"ab") + build_batch(some_records(3), codec=3)
    stamp_append_time(buffer, 2, 1_800_000_000_000)
    header = read_header(buffer, 2)
    assert header.uses_append_time
    assert header.codec == 3
    assert header.max_timestamp == 1_800_000_000_000
    assert {record.timestamp for record in read_batch(buffer, 2)} == {1_800_000_000_000}
