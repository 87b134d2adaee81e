"""Message sets of Kafka before 0.11 (magic 0 and 1), which old data directories still hold.

They are served as they lie, looked into by tools and by compaction, and written only where
compaction takes messages out of a wrapper. A message is its own "batch"; a compressed wrapper
message holds a message set as its value and carries the offset of the last message inside.
`iter_any_headers` walks files in which old and new formats follow one another.
"""

from collections.abc import Container, Iterator
from struct import Struct
from struct import error as StructError
from typing import NamedTuple
from zlib import crc32

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records.batch import (
    APPEND_TIME_FLAG,
    CODEC_MASK,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC_POSITION,
    MAGIC_V2,
    NO_TIMESTAMP,
    BatchHeader,
    Buffer,
    read_header,
)
from headrace.records.codecs import DEFAULT_LIMIT, Codec, compress, decompress
from headrace.records.record import Record

_HEAD = Struct(">qiIbb")  # offset, size, crc, magic, attributes
_TIMESTAMP = Struct(">q")
_LENGTH = Struct(">i")
_OFFSET = Struct(">q")
_CRC = Struct(">I")
_SMALLEST_SIZE = (14, 22)  # by magic, without offset and size
_CRC_END = MAGIC_POSITION  # the CRC covers all from the magic on
_NO_PRODUCER = (-1, -1, -1)


def read_any_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The header of a batch or of an old message, the latter in the fields of the former.

    An old message counts as one record at one offset; for a compressed wrapper that is the last
    offset inside, so `last_offset` is true in every format while `base_offset` is not.
    """
    if len(buffer) - position <= MAGIC_POSITION:
        raise _corrupt(f"no room for a message at byte {position}")
    if buffer[position + MAGIC_POSITION] > 1:
        return read_header(buffer, position)
    try:
        offset, size, crc, magic, attributes = _HEAD.unpack_from(buffer, position)
        timestamp = NO_TIMESTAMP
        if magic == 1:
            timestamp = _TIMESTAMP.unpack_from(buffer, position + _HEAD.size)[0]
    except StructError:
        raise _corrupt(f"no room for a message at byte {position}") from None
    header = BatchHeader.__new__(BatchHeader)
    header.base_offset, header.last_offset_delta, header.record_count = offset, 0, 1
    header.batch_length, header.magic, header.crc = size, magic, crc
    header.attributes = attributes & (CODEC_MASK | (APPEND_TIME_FLAG if magic == 1 else 0))
    header.base_timestamp = header.max_timestamp = timestamp
    header.leader_epoch = -1
    header.producer_id, header.producer_epoch, header.base_sequence = _NO_PRODUCER
    return header


def iter_any_headers(
    buffer: Buffer, start: int = 0, end: int | None = None
) -> Iterator[tuple[int, BatchHeader]]:
    """As `batch.iter_headers`, for files that hold messages of any format."""
    limit = len(buffer) if end is None else end
    position = start
    while limit - position > MAGIC_POSITION:
        size = LOG_OVERHEAD + _LENGTH.unpack_from(buffer, position + 8)[0]
        magic = buffer[position + MAGIC_POSITION]
        if magic > MAGIC_V2 or size < smallest_size(magic):
            raise _corrupt(f"no message at byte {position} (magic {magic}, {size} bytes)")
        if position + size > limit:
            return
        yield position, read_any_header(buffer, position)
        position += size


def smallest_size(magic: int) -> int:
    """The bytes that the smallest message or batch of a format takes."""
    return HEADER_SIZE if magic == MAGIC_V2 else LOG_OVERHEAD + _SMALLEST_SIZE[magic]


def check_message(buffer: Buffer, position: int, header: BatchHeader) -> None:
    """Raise unless the old message at `position` is whole and carries its own checksum."""
    if header.magic not in (0, 1) or header.size < smallest_size(header.magic):
        raise _corrupt(f"no old message at byte {position}")
    end = position + header.size
    if end > len(buffer):
        raise _corrupt(f"the message at byte {position} ends beyond byte {len(buffer)}")
    computed = crc32(memoryview(buffer)[position + _CRC_END : end])
    if computed != header.crc:
        raise _corrupt(f"stored crc = {header.crc}, computed crc = {computed}")


class Thinned(NamedTuple):
    """A wrapper from which messages were taken out."""

    data: bytes
    last_offset: int
    max_timestamp: int


def read_message(buffer: Buffer, position: int = 0, *, limit: int = DEFAULT_LIMIT) -> list[Record]:
    """The records of the old message at `position`: itself, or those inside a wrapper."""
    header = read_any_header(buffer, position)
    check_message(buffer, position, header)
    if header.codec == Codec.NONE:
        return [_read_one(buffer, position, header)]
    return [
        record for _, _, record in _read_inner(_unwrap(buffer, position, header, limit), header)
    ]


def thin_message(
    buffer: Buffer, position: int, offsets: Container[int], *, limit: int = DEFAULT_LIMIT
) -> Thinned:
    """The wrapper at `position` with the messages inside that have these offsets, at least one."""
    wrapper = read_any_header(buffer, position)
    data = _unwrap(buffer, position, wrapper, limit)
    inner = [one for one in _read_inner(data, wrapper) if one[2].offset in offsets]
    first, last = inner[0][2].offset, inner[-1][2].offset
    # Inside, magic 1 counts from the first message. An offset is not part of the checksum.
    shift = first if wrapper.magic == 1 else 0
    value = compress(
        wrapper.codec,
        b"".join(
            _OFFSET.pack(record.offset - shift) + data[start + _OFFSET.size : end]
            for start, end, record in inner
        ),
    )
    timestamp = wrapper.max_timestamp
    if not wrapper.uses_append_time:
        timestamp = max(record.timestamp for _, _, record in inner)
    body = bytes((wrapper.magic, wrapper.attributes))
    if wrapper.magic == 1:
        body += _TIMESTAMP.pack(timestamp)
    body += _LENGTH.pack(-1) + _LENGTH.pack(len(value)) + value
    head = _OFFSET.pack(last) + _LENGTH.pack(len(body) + 4) + _CRC.pack(crc32(body))
    return Thinned(head + body, last, timestamp)


def _unwrap(buffer: Buffer, position: int, header: BatchHeader, limit: int) -> bytes:
    """The messages inside a wrapper."""
    data = _read_one(buffer, position, header).value
    if data is None:
        raise _invalid("a compressed message without a value")
    if header.codec == Codec.ZSTD:
        raise _invalid("zstd in a message of the old format")
    if header.codec == Codec.LZ4 and header.magic == 0:
        data = _mend_lz4(data)
    return decompress(header.codec, data, limit)


def _read_inner(data: bytes, wrapper: BatchHeader) -> list[tuple[int, int, Record]]:
    """Each message inside, with where it begins and ends."""
    found: list[tuple[int, int, Record]] = []
    end = 0
    for position, header in iter_any_headers(data):
        if header.magic != wrapper.magic or header.codec != Codec.NONE:
            raise _invalid("a message inside another has a different format or is compressed")
        check_message(data, position, header)
        end = position + header.size
        found.append((position, end, _read_one(data, position, header)))
    if not found or end != len(data):
        raise _invalid("a compressed message ends in the middle of one inside")
    if wrapper.magic == 1:
        # Inside, magic 1 counts from any number; only the last offset is known from the wrapper.
        shift = wrapper.base_offset - found[-1][2].offset
        for _, _, record in found:
            record.offset += shift
            if wrapper.uses_append_time:
                record.timestamp = wrapper.max_timestamp
    return found


def _read_one(buffer: Buffer, position: int, header: BatchHeader) -> Record:
    end = position + header.size
    position += _HEAD.size + (_TIMESTAMP.size if header.magic == 1 else 0)
    key, position = _field(buffer, position, end)
    value, position = _field(buffer, position, end)
    if position != end:
        raise _invalid(f"{end - position} bytes follow a message's value")
    return Record(header.base_offset, header.max_timestamp, key, value, [])


def _field(buffer: Buffer, position: int, end: int) -> tuple[bytes | None, int]:
    start = position + _LENGTH.size
    if start > end:
        raise _invalid("a message is cut off")
    length = _LENGTH.unpack_from(buffer, position)[0]
    if length < 0:
        return None, start
    if length > end - start:
        raise _invalid(f"a field of {length} bytes with {end - start} left")
    return bytes(buffer[start : start + length]), start + length


def _mend_lz4(frame: bytes) -> bytes:
    """Magic 0 came with a wrong checksum of the frame's header (KAFKA-3160): put the right one.

    It is one byte, and the library tells right from wrong, so it is found by trying.
    """
    import lz4.frame

    if len(frame) < 7:
        raise _invalid("an lz4 frame is cut off")
    position = 14 if frame[4] & 0x08 else 6  # a content size comes before the checksum
    for checksum in (frame[position : position + 1], *(bytes((n,)) for n in range(256))):
        mended = frame[:position] + checksum + frame[position + 1 :]
        try:
            lz4.frame.get_frame_info(mended[:19])
        except RuntimeError:
            continue
        return mended
    raise _invalid("not an lz4 frame")


def _corrupt(reason: str) -> KafkaError:
    return KafkaError(ErrorCode.CORRUPT_MESSAGE, f"Message is corrupt: {reason}.")


def _invalid(reason: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, f"Bad message of the old format: {reason}.")
