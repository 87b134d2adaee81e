"""Read the batches of a segment's log file in large pieces, each checked by its CRC."""

import os
from collections.abc import Iterator

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records.batch import HEADER_SIZE, MAGIC_V2, BatchHeader, Buffer, check_batch
from headrace.records.codecs import Codec
from headrace.records.legacy import check_message, iter_any_headers, read_any_header
from headrace.records.reader import unpack_records

#: Small enough to stay in a processor's cache from the read to the last look.
CHUNK_SIZE = 1024 * 1024

Headers = list[tuple[int, BatchHeader]]


def read_chunks(
    path: str, start: int, end: int, chunk_size: int = CHUNK_SIZE
) -> Iterator[tuple[bytes, Headers]]:
    """Yield pieces of the file from `start` to `end`, with the batches that lie whole in them.

    A batch whose CRC does not match, or that is no batch, raises: compaction must not give bad
    bytes a second life, nor pass over them.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        position = start
        wanted = chunk_size
        while position < end:
            chunk = os.pread(fd, min(wanted, end - position), position)
            headers = list(iter_any_headers(chunk))
            if not headers:
                wanted = _next_size(path, chunk, position, end)
                continue
            for at, header in headers:
                (check_batch if header.magic == MAGIC_V2 else check_message)(chunk, at, header)
            yield chunk, headers
            at, header = headers[-1]
            position += at + header.size
            wanted = chunk_size
    finally:
        os.close(fd)


def encoded_records(chunk: bytes, position: int, header: BatchHeader) -> Buffer:
    """The encoded records of a batch, where they lie if they are not compressed."""
    if header.codec == Codec.NONE:
        return memoryview(chunk)[position + HEADER_SIZE : position + header.size]
    return unpack_records(chunk, position, header)


def _next_size(path: str, chunk: bytes, position: int, end: int) -> int:
    """The size of a batch or message that is larger than the piece that was read."""
    if len(chunk) >= HEADER_SIZE:
        size = read_any_header(chunk).size
        if len(chunk) < size <= end - position:
            return size
    raise KafkaError(
        ErrorCode.CORRUPT_MESSAGE, f"{path} has no whole batch between byte {position} and {end}."
    )
