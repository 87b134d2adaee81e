"""Walk the batches of a log file by their headers, old formats included.

Offset and length are the first twelve bytes of a batch in every format Kafka ever wrote, so a
file is walked without opening a batch. Headers are read a chunk of the file at a time.
"""

import os
from collections.abc import Iterator
from struct import Struct

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records.batch import (
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC_POSITION,
    MAGIC_V2,
    BatchHeader,
    Buffer,
)
from headrace.records.legacy import read_any_header, smallest_size

CHUNK_SIZE = 8192

#: The smallest message of all: offset, length, CRC, magic, attributes, two lengths.
SMALLEST_BATCH = smallest_size(0)
_PREFIX = Struct(">qiibIhi")  # base offset ... last offset delta
_unpack_prefix = _PREFIX.unpack_from


def find_position(fd: int, offset: int, start: int, end: int) -> int:
    """Where the first batch begins whose last offset is at least `offset`; -1 if none does.

    CORRUPT_MESSAGE if the walk ends before the file does: a reader must not take a hole for
    the end of the log.
    """
    position = start
    while end - position >= SMALLEST_BATCH:
        chunk = os.pread(fd, min(CHUNK_SIZE, end - position), position)
        at, limit = 0, len(chunk) - _PREFIX.size
        if limit < 0:  # an old message, shorter than the prefix, at the end
            chunk += bytes(_PREFIX.size)
            limit = 0
        while at <= limit:
            base_offset, length, _, magic, _, _, delta = _unpack_prefix(chunk, at)
            if (base_offset + delta if magic >= MAGIC_V2 else base_offset) >= offset:
                return position + at
            if length < SMALLEST_BATCH - LOG_OVERHEAD:
                raise no_batch_at(position + at)
            at += length + LOG_OVERHEAD
        position += at
    if position != end:
        raise no_batch_at(position)
    return -1


def scan_headers(
    fd: int, start: int, end: int, chunk_size: int = CHUNK_SIZE
) -> Iterator[tuple[int, BatchHeader]]:
    """Yield (position, header) of each batch that lies whole before `end`.

    The walk stops at the first thing that is no batch; whoever cares compares where it stopped.
    """
    position = start
    while end - position >= SMALLEST_BATCH:
        chunk = os.pread(fd, min(chunk_size, end - position), position)
        at, limit = 0, len(chunk)
        while limit - at >= HEADER_SIZE or (
            limit - at >= SMALLEST_BATCH and chunk[at + MAGIC_POSITION] < MAGIC_V2
        ):
            header = header_at(chunk, at)
            if header is None or position + at + header.size > end:
                return
            yield position + at, header
            at += header.size
        if at == 0:
            return
        position += at


def header_in_file(fd: int, position: int, end: int) -> BatchHeader | None:
    """The header of the batch that begins at `position` and lies whole before `end`, if any."""
    for _, header in scan_headers(fd, position, end, HEADER_SIZE):
        return header
    return None


def header_at(buffer: Buffer, position: int) -> BatchHeader | None:
    """The header at `position` in any format, or None if no batch begins there."""
    magic = buffer[position + MAGIC_POSITION]
    if magic > MAGIC_V2:
        return None
    header = (
        BatchHeader(buffer, position) if magic == MAGIC_V2 else read_any_header(buffer, position)
    )
    return header if header.size >= smallest_size(magic) else None


def no_batch_at(position: int) -> KafkaError:
    """What a reader is told who meets a damaged header."""
    return KafkaError(
        ErrorCode.CORRUPT_MESSAGE, f"No record batch at byte {position} of the segment."
    )
