"""Compression of a batch's records, in the framings that Kafka's Java clients read and write.

Input is never trusted: output grows in steps up to the caller's limit, whatever length a header
claims. lz4 and cramjam are loaded at first use, since most nodes never decompress.

* gzip: the standard library's zlib, the only binding at hand that stops at an output limit by
  itself; it was also the faster one.
* snappy: raw blocks in xerial framing, see `records.xerial`.
* lz4: one LZ4 frame of independent 64 KB blocks without content size; Kafka's Java reader refuses
  linked blocks.
* zstd: through cramjam, always into a buffer of known size.
"""

import zlib
from enum import IntEnum
from typing import Final

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records.batch import Buffer

DEFAULT_LIMIT: Final = 64 * 1024 * 1024

_FIRST_STEP: Final = 64 * 1024
_GZIP_FORMAT: Final = 31  # zlib's window bits for "gzip header and trailer"
_GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP_MEMBERS: Final = 64  # writers make one; each more costs a copy of all that follows
_LZ4_KAFKA_DEFAULT: Final = 9


class Codec(IntEnum):
    """Compression types, by their number in a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


# The bounds of the topic settings compression.gzip.level, compression.lz4.level and so on.
LEVELS: Final = {Codec.GZIP: (1, 9), Codec.LZ4: (1, 17), Codec.ZSTD: (-131072, 22)}

# The default of compression.gzip.level, which means what zlib thinks best.
_GZIP_DEFAULT_LEVEL = -1


def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    """Compress `data`; without a level, at the codec's default in Kafka."""
    if codec == Codec.GZIP and level == _GZIP_DEFAULT_LEVEL:
        level = None
    if level is not None:
        _check_level(codec, level)
    if codec == Codec.NONE:
        return bytes(data)
    if codec == Codec.LZ4:
        return _compress_lz4(data, level)
    if codec == Codec.ZSTD:
        import cramjam

        return bytes(cramjam.zstd.compress(data, 3 if level is None else level))
    if codec == Codec.GZIP:
        stream = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, _GZIP_FORMAT)
        return stream.compress(data) + stream.flush()
    if codec == Codec.SNAPPY:
        from headrace.records import xerial

        return xerial.compress(data)
    raise _unknown(codec)


def decompress(codec: int, data: Buffer, limit: int = DEFAULT_LIMIT) -> bytes:
    """Decompress `data` to at most `limit` bytes.

    Raises KafkaError: MESSAGE_TOO_LARGE beyond the limit, CORRUPT_MESSAGE for malformed input.
    """
    if codec == Codec.NONE:
        if len(data) > limit:
            raise too_large(limit)
        return bytes(data)
    if codec == Codec.LZ4:
        return _decompress_lz4(data, limit)
    if codec == Codec.ZSTD:
        return _decompress_zstd(data, limit)
    if codec == Codec.GZIP:
        return _decompress_gzip(data, limit)
    if codec == Codec.SNAPPY:
        from headrace.records import xerial

        return xerial.decompress(data, limit)
    raise _unknown(codec)


def corrupt(codec: Codec, reason: object) -> KafkaError:
    return KafkaError(ErrorCode.CORRUPT_MESSAGE, f"Malformed {codec.name.lower()} data: {reason}.")


def too_large(limit: int) -> KafkaError:
    return KafkaError(
        ErrorCode.MESSAGE_TOO_LARGE,
        f"The records decompress to more than {limit} bytes.",
    )


def _unknown(codec: int) -> KafkaError:
    return KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"Unknown compression type {codec}.")


def _check_level(codec: int, level: int) -> None:
    lowest, highest = LEVELS.get(Codec(codec), (level, level))
    if not lowest <= level <= highest:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Level {level} of {Codec(codec).name.lower()} is not within {lowest} and {highest}.",
        )


def _compress_lz4(data: Buffer, level: int | None) -> bytes:
    import lz4.frame

    # Kafka's default level, 9, stands for the fast compressor, not for high compression at 9.
    fast = level is None or level == _LZ4_KAFKA_DEFAULT
    packed: bytes = lz4.frame.compress(
        data,
        compression_level=0 if fast else level,
        block_size=lz4.frame.BLOCKSIZE_MAX64KB,
        block_linked=False,
        store_size=False,
    )
    return packed


def _decompress_lz4(data: Buffer, limit: int) -> bytes:
    import lz4.frame

    stream = lz4.frame.LZ4FrameDecompressor()
    chunks: list[bytes] = []
    total = 0
    step = _FIRST_STEP
    pending: Buffer = data
    while not stream.eof:
        # One byte more than allowed tells a full buffer from an overflowing one.
        step = min(step, limit + 1 - total)
        try:
            chunk = stream.decompress(pending, max_length=step)
        except (RuntimeError, MemoryError) as error:
            raise corrupt(Codec.LZ4, error) from None
        if not chunk and not stream.eof:
            raise corrupt(Codec.LZ4, "the frame has no end")
        total += len(chunk)
        if total > limit:
            raise too_large(limit)
        chunks.append(chunk)
        pending = b""
        step *= 4
    # Java stops at the end of the first frame too, whatever follows.
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _decompress_gzip(data: Buffer, limit: int) -> bytes:
    chunks: list[bytes] = []
    total = 0
    pending: Buffer = data
    for _ in range(_GZIP_MEMBERS):
        stream = zlib.decompressobj(_GZIP_FORMAT)
        try:
            chunk = stream.decompress(pending, limit + 1 - total)
        except zlib.error as error:
            raise corrupt(Codec.GZIP, error) from None
        total += len(chunk)
        if total > limit:
            raise too_large(limit)
        if not stream.eof:
            raise corrupt(Codec.GZIP, "the stream has no end")
        chunks.append(chunk)
        pending = stream.unused_data
        if pending[:2] != _GZIP_MAGIC:
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)
    raise corrupt(Codec.GZIP, f"more than {_GZIP_MEMBERS} members")


def _decompress_zstd(data: Buffer, limit: int) -> bytes:
    import cramjam

    size = min(limit, max(_FIRST_STEP, 8 * len(data)))
    while True:
        output = bytearray(size)
        try:
            written = cramjam.zstd.decompress_into(data, output)
        except cramjam.DecompressionError as error:
            # The binding has one exception for all; this text alone means "output is full".
            if "failed to write whole buffer" not in str(error):
                raise corrupt(Codec.ZSTD, error) from None
            if size == limit:
                raise too_large(limit) from None
            size = min(limit, size * 4)
        else:
            return bytes(memoryview(output)[:written])
