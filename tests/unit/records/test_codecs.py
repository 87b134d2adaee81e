import gzip
import tracemalloc
from collections.abc import Callable

import cramjam
import lz4.frame
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records.codecs import Codec, compress, decompress

COMPRESSED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
TEXT = b"".join(b"line %d of a text that compresses; " % n for n in range(20_000))
XERIAL_HEADER = b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"


def code_of(codec: int, data: bytes, limit: int = 1 << 20) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        decompress(codec, data, limit)
    return caught.value.code


@pytest.mark.parametrize("codec", list(Codec))
@given(data=st.binary(max_size=2000))
def test_what_is_compressed_comes_back(codec: Codec, data: bytes) -> None:
    assert decompress(codec, compress(codec, data), 2000) == data


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("make", [bytes, bytearray, memoryview])
def test_large_data_in_any_buffer_comes_back(codec: Codec, make: Callable[[bytes], bytes]) -> None:
    packed = compress(codec, make(TEXT))
    assert decompress(codec, make(packed), len(TEXT)) == TEXT


@pytest.mark.parametrize("codec", list(Codec))
def test_one_byte_above_the_limit_is_too_large(codec: Codec) -> None:
    packed = compress(codec, TEXT)
    assert decompress(codec, packed, len(TEXT)) == TEXT
    assert code_of(codec, packed, len(TEXT) - 1) is ErrorCode.MESSAGE_TOO_LARGE
    assert code_of(codec, packed, 0) is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("codec", COMPRESSED)
def test_truncated_data_is_corrupt(codec: Codec) -> None:
    packed = compress(codec, TEXT)
    for size in (0, 1, 5, 10, 17, len(packed) // 2, len(packed) - 1):
        assert code_of(codec, packed[:size]) is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("codec", COMPRESSED)
@given(data=st.binary(min_size=1, max_size=300))
def test_garbage_is_corrupt_or_small(codec: Codec, data: bytes) -> None:
    code = ErrorCode.CORRUPT_MESSAGE
    try:
        assert len(decompress(codec, data, 5000)) <= 5000
    except KafkaError as error:
        code = error.code
    assert code in (ErrorCode.CORRUPT_MESSAGE, ErrorCode.MESSAGE_TOO_LARGE)


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_bomb_costs_no_more_memory_than_the_limit_allows(codec: Codec) -> None:
    bomb = compress(codec, bytes(48 << 20))
    tracemalloc.start()
    try:
        assert code_of(codec, bomb, 1 << 20) is ErrorCode.MESSAGE_TOO_LARGE
        assert tracemalloc.get_traced_memory()[1] < len(bomb) + (6 << 20)
    finally:
        tracemalloc.stop()


def test_unknown_codecs_are_named() -> None:
    assert code_of(5, b"abc") is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    with pytest.raises(KafkaError):
        compress(6, b"abc")


@pytest.mark.parametrize(
    ("codec", "level"),
    [
        *((Codec.GZIP, level) for level in (1, 9)),
        *((Codec.LZ4, level) for level in (1, 9, 17)),
        *((Codec.ZSTD, level) for level in (-131072, -1, 1, 22)),
    ],
)
def test_every_level_kafka_allows_works(codec: Codec, level: int) -> None:
    data = TEXT[:100_000]
    assert decompress(codec, compress(codec, data, level)) == data


@pytest.mark.parametrize(
    ("codec", "level"),
    [(Codec.GZIP, 0), (Codec.GZIP, 10), (Codec.LZ4, 0), (Codec.LZ4, 18), (Codec.ZSTD, 23)],
)
def test_other_levels_are_refused(codec: Codec, level: int) -> None:
    with pytest.raises(KafkaError) as caught:
        compress(codec, b"abc", level)
    assert caught.value.code is ErrorCode.INVALID_CONFIG


def test_higher_levels_compress_better() -> None:
    assert len(compress(Codec.LZ4, TEXT, 12)) < len(compress(Codec.LZ4, TEXT, 9))
    assert compress(Codec.LZ4, TEXT, 9) == compress(Codec.LZ4, TEXT)
    assert len(compress(Codec.ZSTD, TEXT, 19)) < len(compress(Codec.ZSTD, TEXT, 1))
    assert len(compress(Codec.GZIP, TEXT, 9)) < len(compress(Codec.GZIP, TEXT, 1))


def test_lz4_frames_are_such_as_javas_reader_takes() -> None:
    frame = compress(Codec.LZ4, TEXT)
    info = lz4.frame.get_frame_info(frame)
    assert not info["block_linked"]
    assert info["block_size"] == 64 * 1024
    assert not info["content_checksum"]
    assert not info["block_checksum"]
    assert info["content_size"] == 0
    assert frame[4:7] == b"\x60\x40\x82"
    assert frame[-4:] == b"\x00\x00\x00\x00"


def test_lz4_frames_of_other_writers_are_read() -> None:
    frame = lz4.frame.compress(TEXT, content_checksum=True, block_checksum=True)
    assert decompress(Codec.LZ4, frame) == TEXT


def test_gzip_is_read_by_and_from_the_standard_library() -> None:
    assert gzip.decompress(compress(Codec.GZIP, TEXT)) == TEXT
    assert decompress(Codec.GZIP, gzip.compress(TEXT) + gzip.compress(b"more")) == TEXT + b"more"


def test_endless_gzip_members_are_refused() -> None:
    assert code_of(Codec.GZIP, gzip.compress(b"") * 1000) is ErrorCode.CORRUPT_MESSAGE


def test_zstd_frames_without_a_content_size_are_read() -> None:
    stream = cramjam.zstd.Compressor()
    for start in range(0, len(TEXT), 5000):
        stream.compress(TEXT[start : start + 5000])
    frame = bytes(stream.finish())
    assert decompress(Codec.ZSTD, frame) == TEXT
    assert decompress(Codec.ZSTD, frame * 2, 2 * len(TEXT)) == TEXT * 2


def test_snappy_is_written_in_xerial_framing_of_32_kb_blocks() -> None:
    packed = compress(Codec.SNAPPY, TEXT[:40_000])
    assert packed.startswith(XERIAL_HEADER)
    size = int.from_bytes(packed[16:20], "big")
    first = bytes(cramjam.snappy.decompress_raw(packed[20 : 20 + size]))
    assert first == TEXT[: 32 * 1024]


def test_snappy_without_framing_is_read() -> None:
    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(TEXT))) == TEXT


def test_snappy_streams_may_follow_one_another() -> None:
    packed = compress(Codec.SNAPPY, b"one") + compress(Codec.SNAPPY, b"two")
    assert decompress(Codec.SNAPPY, packed) == b"onetwo"


def test_snappy_lengths_that_lie_are_corrupt() -> None:
    block = bytes(cramjam.snappy.compress_raw(b"abcdef"))
    for claimed in (-1, 0, len(block) + 1, 2**31 - 1):
        data = XERIAL_HEADER + claimed.to_bytes(4, "big", signed=True) + block
        assert code_of(Codec.SNAPPY, data) is ErrorCode.CORRUPT_MESSAGE
    huge = b"\xff\xff\xff\xff\x0f" + block[1:]  # claims 4 GB
    assert code_of(Codec.SNAPPY, huge) is ErrorCode.CORRUPT_MESSAGE
