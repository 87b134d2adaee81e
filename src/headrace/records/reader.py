"""Read the records of batches one by one, in plain Python.

For what is small or rare: the node's own topics, tools. Bulk readers use `records.columns`, lookups
by time `records.record_times`.
"""

from collections.abc import Iterator

from headrace.records.batch import (
    HEADER_SIZE,
    BatchHeader,
    Buffer,
    check_batch,
    iter_headers,
    read_header,
)
from headrace.records.codecs import DEFAULT_LIMIT, decompress
from headrace.records.record import Header, Record
from headrace.records.varint import decode_varint32
from headrace.records.walk import walk


def read_batch(buffer: Buffer, position: int = 0, *, limit: int = DEFAULT_LIMIT) -> list[Record]:
    """Check the batch at `position` and return its records; `limit` bounds their size unpacked."""
    header = read_header(buffer, position)
    check_batch(buffer, position, header)
    return read_checked_batch(buffer, position, header, limit=limit)


def read_records(
    buffer: Buffer, start: int = 0, end: int | None = None, *, limit: int = DEFAULT_LIMIT
) -> Iterator[Record]:
    """Yield the records of all whole batches, control batches included."""
    for position, header in iter_headers(buffer, start, end):
        check_batch(buffer, position, header)
        yield from read_checked_batch(buffer, position, header, limit=limit)


def read_checked_batch(
    buffer: Buffer, position: int, header: BatchHeader, *, limit: int = DEFAULT_LIMIT
) -> list[Record]:
    """Read the records of a batch that has passed `check_batch`."""
    if header.record_count == 0:
        return []
    data = unpack_records(buffer, position, header, limit=limit)
    return [
        Record(
            offset,
            timestamp,
            None if key_length < 0 else data[key : key + key_length],
            None if value_length < 0 else data[value : value + value_length],
            read_headers(data, headers) if headers_length > 1 else [],
        )
        for (
            offset,
            timestamp,
            key,
            key_length,
            value,
            value_length,
            headers,
            headers_length,
        ) in walk(data, 0, len(data), header)
    ]


def unpack_records(
    buffer: Buffer, position: int, header: BatchHeader, *, limit: int = DEFAULT_LIMIT
) -> bytes:
    """The encoded records of a batch, decompressed."""
    payload = memoryview(buffer)[position + HEADER_SIZE : position + header.size]
    return decompress(header.codec, payload, limit)


def read_headers(data: Buffer, position: int) -> list[Header]:
    """Decode the headers of a record that the walk has passed over."""
    count, position = decode_varint32(data, position)
    headers: list[Header] = []
    for _ in range(count):
        length, position = decode_varint32(data, position)
        # A name with bad bytes costs the name, not the batch: Java's decoder replaces them too.
        name = str(data[position : position + length], "utf-8", "replace")
        length, position = decode_varint32(data, position + length)
        value = None if length < 0 else bytes(data[position : position + length])
        position += max(length, 0)
        headers.append((name, value))
    return headers
