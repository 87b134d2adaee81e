"""What a client's Produce request has to pass before its batch may enter a log.

The rules and codes are those of Kafka 4: one batch of format 2 per partition, base offset 0, as
many records as offsets, no control records, a sequence where there is a producer id. They look at
the header alone; what needs the records (keys on compacted topics) is in `records.deep`.
"""

from struct import Struct

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records.batch import (
    HEADER_SIZE,
    LAST_CODEC,
    LOG_OVERHEAD,
    MAGIC_POSITION,
    MAGIC_V2,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    Buffer,
    check_crc,
)

_LENGTH_POSITION = 8
_SMALLEST_LEGACY_LENGTH = 14
_unpack_length = Struct(">i").unpack_from


def check_produce(buffer: Buffer) -> BatchHeader:
    """Check the records of one partition in a Produce request and return their one batch's header.

    Bytes behind the batch that make no whole batch are not an error; the caller keeps
    `header.size` bytes, as Kafka trims them too.
    """
    total = len(buffer)
    if total < HEADER_SIZE:
        raise _not_produced(buffer)
    header = BatchHeader(buffer, 0)
    size = header.batch_length + LOG_OVERHEAD
    if header.magic != MAGIC_V2 or not HEADER_SIZE <= size <= total:
        raise _not_produced(buffer)
    if size != total:
        _refuse_second_batch(buffer, size)
    if header.base_offset != 0:
        raise _invalid(f"The base offset of a produced batch is 0, not {header.base_offset}.")
    check_crc(buffer, 0, size, header.crc)
    # One comparison for the common case: no flag but transactional, and a codec that exists.
    attributes = header.attributes & ~TRANSACTIONAL_FLAG
    if attributes > LAST_CODEC or attributes < 0:
        _refuse_attributes(header)
    if header.record_count != header.last_offset_delta + 1 or header.record_count <= 0:
        raise _invalid(
            f"Inconsistent last offset delta {header.last_offset_delta}"
            f" and record count {header.record_count}."
        )
    if header.producer_id >= 0:
        if header.base_sequence < 0:
            raise _invalid(
                f"Invalid sequence number {header.base_sequence}"
                f" in a batch of producer {header.producer_id}."
            )
    elif header.attributes & TRANSACTIONAL_FLAG:
        raise _invalid("A transactional batch needs a producer id.")
    return header


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, message)


def _not_produced(buffer: Buffer) -> KafkaError:
    """Say what is wrong with bytes that do not begin with a whole batch, with Kafka's codes."""
    if len(buffer) > MAGIC_POSITION:
        length = _unpack_length(buffer, _LENGTH_POSITION)[0]
        if length < _SMALLEST_LEGACY_LENGTH:
            return KafkaError(
                ErrorCode.CORRUPT_MESSAGE,
                f"Record size {length} is less than any record's.",
            )
        magic = buffer[MAGIC_POSITION]
        if magic > MAGIC_V2:
            return KafkaError(ErrorCode.CORRUPT_MESSAGE, f"Invalid magic {magic} in record.")
        if length + LOG_OVERHEAD <= len(buffer):
            if magic != MAGIC_V2:
                return _invalid("Produce requests may only contain record batches with magic 2.")
            return KafkaError(
                ErrorCode.CORRUPT_MESSAGE,
                f"Record batch of {length} bytes is too short.",
            )
    return _invalid("Produce requests must have at least one whole record batch per partition.")


def _refuse_second_batch(buffer: Buffer, start: int) -> None:
    if len(buffer) - start > MAGIC_POSITION:
        length = _unpack_length(buffer, start + _LENGTH_POSITION)[0]
        if length < _SMALLEST_LEGACY_LENGTH:
            raise KafkaError(
                ErrorCode.CORRUPT_MESSAGE,
                f"Record size {length} is less than any record's.",
            )
        if length + LOG_OVERHEAD <= len(buffer) - start:
            raise _invalid("Produce requests may contain only one record batch per partition.")


def _refuse_attributes(header: BatchHeader) -> None:
    if header.is_control:
        raise _invalid("Clients are not allowed to write control records.")
    if header.uses_append_time:
        raise KafkaError(
            ErrorCode.INVALID_TIMESTAMP,
            "A producer may not set the timestamp type to LogAppendTime.",
        )
    if header.codec > LAST_CODEC:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
            f"Unknown compression type {header.codec}.",
        )
    # Unused bits, and the delete horizon, which only compaction sets: Kafka lets them pass.
