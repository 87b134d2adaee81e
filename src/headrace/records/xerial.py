"""Snappy as Kafka carries it: raw blocks in the framing of xerial's snappy-java.

A 16-byte header (magic, version, oldest compatible version), then blocks of an int32 length and a
raw snappy block. Like Java's reader, a stream without the header is read as one bare raw block,
and a header between blocks starts a further stream.
"""

from struct import Struct
from typing import Final

from headrace.records.batch import Buffer
from headrace.records.codecs import Codec, corrupt, too_large

_MAGIC: Final = b"\x82SNAPPY\x00"
_HEADER: Final = _MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
_BLOCK_SIZE: Final = 32 * 1024
_MOST_EXPANSION: Final = 32  # a copy of 64 bytes takes at least 2 bytes of input
_length = Struct(">i")


def compress(data: Buffer) -> bytes:
    """Compress into xerial framing, in blocks of the size Java uses."""
    import cramjam

    view = memoryview(data)
    parts = [_HEADER]
    for start in range(0, len(view), _BLOCK_SIZE):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + _BLOCK_SIZE]))
        parts.append(_length.pack(len(block)))
        parts.append(block)
    return b"".join(parts)


def decompress(data: Buffer, limit: int) -> bytes:
    """Decompress framed or bare snappy to at most `limit` bytes."""
    view = memoryview(data)
    if bytes(view[: len(_MAGIC)]) != _MAGIC:
        return _decompress_block(view, limit)
    position = len(_HEADER)
    if len(view) < position:
        raise corrupt(Codec.SNAPPY, "the header is cut off")
    chunks: list[bytes] = []
    room = limit
    while position < len(view):
        if bytes(view[position : position + len(_MAGIC)]) == _MAGIC:
            position += len(_HEADER)
            continue
        start = position + _length.size
        if start > len(view):
            raise corrupt(Codec.SNAPPY, "a block length is cut off")
        size = _length.unpack_from(view, position)[0]
        position = start + size
        if size <= 0 or position > len(view):
            raise corrupt(Codec.SNAPPY, f"a block of {size} bytes with {len(view) - start} left")
        chunk = _decompress_block(view[start:position], room)
        room -= len(chunk)
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _decompress_block(block: memoryview, room: int) -> bytes:
    import cramjam

    try:
        size = cramjam.snappy.decompress_raw_len(block)
        if size > _MOST_EXPANSION * len(block):
            raise corrupt(Codec.SNAPPY, f"{len(block)} bytes cannot hold {size}")
        if size > room:
            raise too_large(room)
        output = bytearray(size)
        written = cramjam.snappy.decompress_raw_into(block, output)
    except cramjam.DecompressionError as error:
        raise corrupt(Codec.SNAPPY, error) from None
    return bytes(memoryview(output)[:written])
