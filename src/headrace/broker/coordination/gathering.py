"""The last value of every key of a coordinator's log: all that its state needs of most records.

An internal topic that nobody compacted may hold millions of superseded records. They cost a walk
to their key and no more: neither is their value decoded, nor is a record made of them.
"""

from __future__ import annotations

from struct import Struct

from headrace.records.batch import ATTRIBUTES_POSITION, HEADER_SIZE, LOG_OVERHEAD, BatchHeader
from headrace.records.checksum import crc32c
from headrace.records.codecs import Codec
from headrace.records.reader import unpack_records
from headrace.records.walk import walk

#: Base offset, length, magic, CRC, attributes, last offset delta, count of records.
_header = Struct(">qi4xBIhi30xi").unpack_from
_MAGIC = 2

#: The newest value of each key so far, in the order of the records that hold them.
Latest = dict[bytes, bytes | None]


def gather_small(latest: Latest, data: bytes, position: int, offset: int) -> tuple[int, int]:
    """Take in the plain batches from `position` on, up to the first one that is anything else.

    Most batches of a coordinator hold the record of a single commit: for them the header is all
    the work, so it is not made an object. Returns where the rest begins, and its first offset.
    """
    view = memoryview(data)
    limit = len(data)
    while limit - position >= HEADER_SIZE:
        base, length, magic, crc, attributes, last_delta, count = _header(data, position)
        end = position + length + LOG_OVERHEAD
        if (
            magic != _MAGIC
            or attributes
            or end > limit
            or length < HEADER_SIZE - LOG_OVERHEAD
            or not 0 <= count <= last_delta + 1
            or crc32c(view[position + ATTRIBUTES_POSITION : end]) != crc
            or not _gather_plain(latest, data, position + HEADER_SIZE, end, count)
        ):
            break
        position, offset = end, base + last_delta + 1
    return position, offset


def gather(latest: Latest, data: bytes, position: int, header: BatchHeader) -> None:
    """Take in the batch at `position`, which has passed `check_batch`."""
    for key, value in key_values(data, position, header):
        # Taken out first, so that it comes after all that was written before it.
        latest.pop(key, None)
        latest[key] = value


def key_values(data: bytes, position: int, header: BatchHeader) -> list[tuple[bytes, bytes | None]]:
    """Keys and values of all records of a batch that have a key."""
    start, end = position + HEADER_SIZE, position + header.size
    if header.codec != Codec.NONE:
        data = unpack_records(data, position, header)
        start, end = 0, len(data)
    return [
        (
            data[key : key + key_size],
            None if value_size < 0 else data[value : value + value_size],
        )
        for _, _, key, key_size, value, value_size, _, _ in walk(data, start, end, header)
        if key_size >= 0
    ]


def _gather_plain(latest: Latest, data: bytes, at: int, end: int, count: int) -> bool:
    """Records as coordinators write them, with numbers of one or two bytes and no headers.

    False if there is something else; what was taken in until then is taken in again by the walk.
    """
    forget = latest.pop
    try:
        for _ in range(count):
            size = data[at]
            at += 1
            if size > 0x7F:
                size += (data[at] << 7) - 0x80
                at += 1
                if size > 0x3FFF:
                    return False
            record_end = at + (size >> 1)
            # The attributes, the distance in time (here always one byte), the one in offsets.
            if data[at + 1] > 0x7F:
                return False
            at += 2
            while data[at] > 0x7F:
                at += 1
            size = data[at + 1]
            at += 2
            if size > 0x7F:
                size += (data[at] << 7) - 0x80
                at += 1
            if size & 1 or size > 0x3FFF:
                return False
            value_at = at + (size >> 1)
            key = data[at:value_at]
            size = data[value_at]
            value_at += 1
            if size > 0x7F:
                size += (data[value_at] << 7) - 0x80
                value_at += 1
                if size > 0x3FFF:
                    return False
            if size & 1:
                if size != 1:
                    return False
                value = None
                at = value_at
            else:
                at = value_at + (size >> 1)
                value = data[value_at:at]
            if data[at]:
                return False
            at += 1
            if at != record_end:
                return False
            forget(key, None)
            latest[key] = value
    except IndexError:
        return False
    return at == end
