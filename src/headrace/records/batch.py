"""The record batch as the broker sees it: a 61-byte header, a checksum, and bytes it never opens.

This is the hot path of produce and fetch: everything here works on the header alone, in place, and
costs the same for one record as for ten thousand. `check_batch` holds for any batch of format 2,
wherever it comes from; what a client may send is narrower, see `records.produced`. Data in the
formats before Kafka 0.11 (magic 0 and 1) is the business of `records.legacy`.
"""

from collections.abc import Iterator
from struct import Struct
from struct import error as StructError
from typing import TypeAlias

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records.checksum import crc32c

Buffer: TypeAlias = bytes | bytearray | memoryview

HEADER_SIZE = 61
LOG_OVERHEAD = 12  # base offset and batch length, which the batch length does not count
MAGIC_V2 = 2

# Positions of the fields that are written in place, and of the first byte the CRC covers.
MAGIC_POSITION = 16
CRC_POSITION = 17
ATTRIBUTES_POSITION = 21
MAX_TIMESTAMP_POSITION = 35

CODEC_MASK = 0x07
APPEND_TIME_FLAG = 0x08
TRANSACTIONAL_FLAG = 0x10
CONTROL_FLAG = 0x20
DELETE_HORIZON_FLAG = 0x40

LAST_CODEC = 4  # zstd; the values above have no meaning in any Kafka
NO_PRODUCER_ID = -1
NO_SEQUENCE = -1
NO_TIMESTAMP = -1
SEQUENCE_LIMIT = 1 << 31  # sequences run from 0 to 2^31 - 1 and start again at 0

_SMALLEST_LENGTH = HEADER_SIZE - LOG_OVERHEAD

HEADER = Struct(">qiibIhiqqqhii")
_unpack_header = HEADER.unpack_from
_HEAD = Struct(">qiibIhi")  # up to the last offset delta
_pack_offset = Struct(">q").pack_into
_pack_int32 = Struct(">i").pack_into
_pack_uint32 = Struct(">I").pack_into
_pack_int16 = Struct(">h").pack_into


class BatchHeader:
    """The fields before the records. Reading one costs a single unpack."""

    __slots__ = (
        "attributes",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "batch_length",
        "crc",
        "last_offset_delta",
        "leader_epoch",
        "magic",
        "max_timestamp",
        "producer_epoch",
        "producer_id",
        "record_count",
    )

    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    def __init__(self, buffer: Buffer, position: int = 0) -> None:
        (
            self.base_offset,
            self.batch_length,
            self.leader_epoch,
            self.magic,
            self.crc,
            self.attributes,
            self.last_offset_delta,
            self.base_timestamp,
            self.max_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.record_count,
        ) = _unpack_header(buffer, position)

    @property
    def size(self) -> int:
        """Bytes of the whole batch, header included."""
        return self.batch_length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_FLAG != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_FLAG != 0

    @property
    def uses_append_time(self) -> bool:
        return self.attributes & APPEND_TIME_FLAG != 0

    @property
    def has_delete_horizon(self) -> bool:
        """True if `base_timestamp` is the time after which tombstones may go (KIP-534)."""
        return self.attributes & DELETE_HORIZON_FLAG != 0

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID

    @property
    def last_sequence(self) -> int:
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) % SEQUENCE_LIMIT

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)}" for name in BatchHeader.__annotations__)
        return f"BatchHeader({fields})"


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """Read the header at `position`; says nothing yet about whether the batch is sound."""
    try:
        return BatchHeader(buffer, position)
    except StructError:
        raise KafkaError(
            ErrorCode.CORRUPT_MESSAGE,
            f"No room for a record batch header at byte {position} of {len(buffer)}.",
        ) from None


def iter_headers(
    buffer: Buffer, start: int = 0, end: int | None = None
) -> Iterator[tuple[int, BatchHeader]]:
    """Yield each whole batch as (position, header); a partial batch at the end is left out.

    A length or magic that no batch can have raises, since nothing behind it can be found.
    """
    limit = len(buffer) if end is None else end
    position = start
    while limit - position >= HEADER_SIZE:
        header = BatchHeader(buffer, position)
        if header.magic != MAGIC_V2 or header.batch_length < _SMALLEST_LENGTH:
            raise _not_a_batch(header, position)
        following = position + header.batch_length + LOG_OVERHEAD
        if following > limit:
            return
        yield position, header
        position = following


def find_next_offset(buffer: Buffer) -> int | None:
    """The offset behind the last whole batch; None if there is none. Much faster than a walk."""
    found = None
    position, limit = 0, len(buffer)
    while limit - position >= HEADER_SIZE:
        base_offset, length, _, magic, _, _, last_delta = _HEAD.unpack_from(buffer, position)
        position += length + LOG_OVERHEAD
        if magic != MAGIC_V2 or length < _SMALLEST_LENGTH or position > limit:
            break
        found = base_offset + last_delta + 1
    return found


def check_batch(buffer: Buffer, position: int, header: BatchHeader) -> None:
    """Raise unless the batch at `position` is whole, of format 2, and carries its own checksum.

    True of every sound batch, also of control batches and of those that compaction thinned out.
    """
    length = header.batch_length
    if header.magic != MAGIC_V2 or length < _SMALLEST_LENGTH:
        raise _not_a_batch(header, position)
    end = position + length + LOG_OVERHEAD
    if end > len(buffer):
        raise KafkaError(
            ErrorCode.CORRUPT_MESSAGE,
            f"The record batch at byte {position} ends at byte {end}, beyond {len(buffer)}.",
        )
    check_crc(buffer, position, end, header.crc)
    # A thinned batch keeps its offset range and has fewer records than the range has offsets.
    if not 0 <= header.record_count <= header.last_offset_delta + 1:
        raise KafkaError(
            ErrorCode.INVALID_RECORD,
            f"The record batch claims {header.record_count} records"
            f" for {header.last_offset_delta + 1} offsets.",
        )


class WrongChecksumError(KafkaError):
    """Bytes that are not those that the sender of a batch wrote."""


def check_crc(buffer: Buffer, position: int, end: int, stored: int) -> None:
    """Raise unless the batch between `position` and `end` has the checksum that its header says."""
    computed = crc32c(memoryview(buffer)[position + ATTRIBUTES_POSITION : end])
    if computed != stored:
        raise WrongChecksumError(
            ErrorCode.CORRUPT_MESSAGE,
            f"Record batch is corrupt (stored crc = {stored}, computed crc = {computed}).",
        )


def stamp(
    buffer: bytearray | memoryview, position: int, base_offset: int, leader_epoch: int
) -> None:
    """Give a batch its place in the log; both fields lie outside the CRC."""
    _pack_offset(buffer, position, base_offset)
    _pack_int32(buffer, position + LOG_OVERHEAD, leader_epoch)


def stamp_append_time(buffer: bytearray | memoryview, position: int, timestamp_ms: int) -> None:
    """Turn a batch's timestamps into log append time, and renew its CRC."""
    header = BatchHeader(buffer, position)
    _pack_int16(buffer, position + ATTRIBUTES_POSITION, header.attributes | APPEND_TIME_FLAG)
    _pack_offset(buffer, position + MAX_TIMESTAMP_POSITION, timestamp_ms)
    stamp_crc(buffer, position, header.size)


def stamp_crc(buffer: bytearray | memoryview, position: int, size: int) -> None:
    """Write the CRC of the batch that takes `size` bytes from `position`."""
    crc = crc32c(memoryview(buffer)[position + ATTRIBUTES_POSITION : position + size])
    _pack_uint32(buffer, position + CRC_POSITION, crc)


def _not_a_batch(header: BatchHeader, position: int) -> KafkaError:
    if header.magic in (0, 1):
        return KafkaError(
            ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
            f"The message at byte {position} has the old format (magic {header.magic}).",
        )
    return KafkaError(
        ErrorCode.CORRUPT_MESSAGE,
        f"No record batch at byte {position} (magic {header.magic}, length {header.batch_length}).",
    )
