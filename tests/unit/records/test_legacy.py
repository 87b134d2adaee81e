from struct import pack
from zlib import crc32

import pytest
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records.batch import Buffer
from headrace.records.builder import build_batch
from headrace.records.codecs import Codec, compress
from headrace.records.legacy import (
    check_message,
    iter_any_headers,
    read_any_header,
    read_message,
)
from tests.unit.records.samples import some_records


def field(value: bytes | None) -> bytes:
    return pack(">i", -1) if value is None else pack(">i", len(value)) + value


def message(
    offset: int,
    key: bytes | None,
    value: bytes | None,
    *,
    magic: int = 1,
    attributes: int = 0,
    timestamp: int = 0,
) -> bytes:
    body = bytes((magic, attributes))
    body += pack(">q", timestamp) if magic == 1 else b""
    body += field(key) + field(value)
    return pack(">qiI", offset, len(body) + 4, crc32(body)) + body


def wrapper(
    offset: int, inner: bytes, codec: int, *, magic: int = 1, append_time: int | None = None
) -> bytes:
    attributes = codec | (0x08 if append_time is not None else 0)
    return message(
        offset,
        None,
        compress(codec, inner),
        magic=magic,
        attributes=attributes,
        timestamp=append_time or 0,
    )


def refusal(buffer: Buffer) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        read_message(buffer)
    return caught.value.code


def test_a_plain_message_of_either_format_is_read() -> None:
    [new] = read_message(message(5, b"k", b"v", magic=1, timestamp=77))
    assert (new.offset, new.timestamp, new.key, new.value) == (5, 77, b"k", b"v")
    [old] = read_message(b"??" + message(6, None, b"", magic=0), 2)
    assert (old.offset, old.timestamp, old.key, old.value) == (6, -1, None, b"")


@pytest.mark.parametrize("codec", [1, 2, 3])
def test_offsets_inside_a_wrapper_of_magic_1_count_back_from_its_own(codec: int) -> None:
    inner = b"".join(message(n, b"k%d" % n, b"v", timestamp=10 + n) for n in range(3))
    records = read_message(wrapper(102, inner, codec))
    assert [(r.offset, r.timestamp, r.key) for r in records] == [
        (100, 10, b"k0"),
        (101, 11, b"k1"),
        (102, 12, b"k2"),
    ]


@pytest.mark.parametrize("codec", [1, 2, 3])
def test_offsets_inside_a_wrapper_of_magic_0_are_absolute(codec: int) -> None:
    inner = b"".join(message(n, b"k", b"v", magic=0) for n in (40, 41, 44))
    records = read_message(wrapper(44, inner, codec, magic=0))
    assert [record.offset for record in records] == [40, 41, 44]


def test_append_time_of_a_wrapper_holds_for_all_inside() -> None:
    inner = message(0, b"k", b"v", timestamp=1) + message(1, b"k", b"v", timestamp=2)
    records = read_message(wrapper(1, inner, Codec.GZIP, append_time=500))
    assert [record.timestamp for record in records] == [500, 500]


def test_the_wrong_lz4_header_checksum_of_magic_0_is_mended() -> None:
    inner = message(0, b"k", b"v" * 100, magic=0)
    frame = bytearray(compress(Codec.LZ4, inner))
    frame[6] ^= 0x5A
    broken = message(0, None, bytes(frame), magic=0, attributes=Codec.LZ4)
    assert [record.value for record in read_message(broken)] == [b"v" * 100]
    assert refusal(message(0, None, bytes(frame), attributes=Codec.LZ4)) is (
        ErrorCode.CORRUPT_MESSAGE
    )


@pytest.mark.parametrize(
    ("magic", "codec"),
    [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (1, 3)],  # it writes no lz4 in magic 0
)
def test_message_sets_of_another_client_are_read(magic: int, codec: int) -> None:
    builder = LegacyRecordBatchBuilder(magic=magic, compression_type=codec, batch_size=1 << 16)
    for n in range(20):
        builder.append(n, timestamp=1000 + n, key=b"key-%d" % n, value=b"value" * n)
    buffer = builder.build()
    if codec != Codec.NONE:
        buffer[:8] = pack(">q", 19)  # as a broker would: the last offset inside
    records = [r for p, _ in iter_any_headers(buffer) for r in read_message(buffer, p)]
    assert [(r.offset, r.key, r.value) for r in records] == [
        (n, b"key-%d" % n, b"value" * n) for n in range(20)
    ]
    if magic == 1:
        assert [record.timestamp for record in records] == list(range(1000, 1020))


def test_old_and_new_formats_are_walked_in_one_file() -> None:
    buffer = (
        message(0, b"k", b"v", magic=0)
        + wrapper(4, message(0, b"k", b"v") * 2, Codec.GZIP)
        + bytes(build_batch(some_records(5, 5), base_offset=5))
        + message(10, b"k", b"v")[:-1]
    )
    found = [(header.magic, header.last_offset) for _, header in iter_any_headers(buffer)]
    assert found == [(0, 0), (1, 4), (2, 9)]


def test_the_header_of_an_old_message_speaks_in_fields_of_the_new() -> None:
    header = read_any_header(wrapper(9, message(0, b"k", b"v"), Codec.SNAPPY, append_time=5))
    assert (header.last_offset, header.next_offset, header.record_count) == (9, 10, 1)
    assert (header.codec, header.uses_append_time, header.max_timestamp) == (2, True, 5)
    assert (header.leader_epoch, header.producer_id, header.last_sequence) == (-1, -1, -1)
    assert not header.is_control
    assert not header.is_transactional


def test_any_flipped_bit_behind_the_crc_is_noticed() -> None:
    sound = message(5, b"key", b"value", timestamp=77)
    for position in range(17, len(sound)):
        damaged = bytearray(sound)
        damaged[position] ^= 1 << position % 8
        header = read_any_header(damaged)
        with pytest.raises(KafkaError):
            check_message(damaged, 0, header)


@pytest.mark.parametrize("size", [-1, 0, 13, 21])
def test_an_impossible_size_is_corrupt(size: int) -> None:
    buffer = bytearray(message(5, b"key", b"value"))
    buffer[8:12] = pack(">i", size)
    with pytest.raises(KafkaError) as caught:
        list(iter_any_headers(buffer))
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    "inner",
    [
        b"",
        message(0, b"k", b"v")[:-1],
        message(0, b"k", b"v", magic=0),
        wrapper(0, message(0, b"k", b"v"), Codec.GZIP),
        message(0, b"k", b"v") + b"tail",
    ],
    ids=["empty", "cut off", "other magic", "compressed twice", "tail"],
)
def test_a_wrapper_with_a_bad_inside_is_invalid(inner: bytes) -> None:
    assert refusal(wrapper(0, inner, Codec.GZIP)) is ErrorCode.INVALID_RECORD


def test_lengths_beyond_the_message_are_invalid() -> None:
    body = b"\x01\x00" + pack(">q", 0)
    for rest in (field(b"k"), pack(">i", 50) + b"kkkk", field(b"k") + pack(">i", 9) + b"v"):
        whole = (body + rest).ljust(18, b"\xff")
        buffer = pack(">qiI", 0, len(whole) + 4, crc32(whole)) + whole
        assert refusal(buffer) is ErrorCode.INVALID_RECORD


def test_zstd_never_was_in_the_old_formats() -> None:
    assert refusal(wrapper(0, message(0, b"k", b"v"), Codec.ZSTD)) is ErrorCode.INVALID_RECORD
    assert refusal(message(0, b"k", None, attributes=Codec.GZIP)) is ErrorCode.INVALID_RECORD
