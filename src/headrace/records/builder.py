"""Build a record batch of format 2 from records, in plain Python.

For batches the node makes itself (metadata, offsets, transactions, control records), for
compaction, and for our own client. Bulk producers use `records.columns`.
"""

from collections.abc import Iterable

from headrace.base.errors import ErrorCode, KafkaError
from headrace.records.batch import (
    APPEND_TIME_FLAG,
    CONTROL_FLAG,
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC_V2,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    stamp_crc,
)
from headrace.records.codecs import Codec, compress
from headrace.records.record import Header, Record
from headrace.records.varint import encode_varint

_NULL = b"\x01"  # the varint -1


def build_batch(
    records: Iterable[Record],
    *,
    base_offset: int = 0,
    codec: int = Codec.NONE,
    level: int | None = None,
    leader_epoch: int = -1,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
    control: bool = False,
    append_time: int | None = None,
) -> bytearray:
    """Build one batch; each record's offset must be at least `base_offset` and rise.

    The last record's offset is the batch's last offset. `append_time` makes all timestamps that
    time (LogAppendTime); the records then keep their own time inside, unseen, as in Kafka.
    """
    rows = records if isinstance(records, list) else list(records)
    if not rows:
        raise KafkaError(ErrorCode.INVALID_RECORD, "A batch needs at least one record.")
    base_timestamp = rows[0].timestamp
    payload = encode_records(rows, base_offset, base_timestamp)
    max_timestamp = append_time if append_time is not None else max(r.timestamp for r in rows)
    attributes = (
        codec
        | (TRANSACTIONAL_FLAG if transactional else 0)
        | (CONTROL_FLAG if control else 0)
        | (APPEND_TIME_FLAG if append_time is not None else 0)
    )
    return frame_batch(
        payload if codec == Codec.NONE else compress(codec, payload, level),
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        attributes=attributes,
        last_offset_delta=rows[-1].offset - base_offset,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=len(rows),
    )


def frame_batch(
    payload: bytes | bytearray,
    *,
    base_offset: int,
    leader_epoch: int,
    attributes: int,
    last_offset_delta: int,
    base_timestamp: int = NO_TIMESTAMP,
    max_timestamp: int = NO_TIMESTAMP,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    record_count: int,
) -> bytearray:
    """Put a header in front of encoded (and, if so flagged, compressed) records.

    Compaction uses this too: a payload of nothing with record_count 0 keeps a producer's last
    sequence when all records of its batch are gone.
    """
    size = HEADER_SIZE + len(payload)
    batch = bytearray(size)
    HEADER.pack_into(
        batch,
        0,
        base_offset,
        size - LOG_OVERHEAD,
        leader_epoch,
        MAGIC_V2,
        0,
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        record_count,
    )
    batch[HEADER_SIZE:] = payload
    stamp_crc(batch, 0, size)
    return batch


def encode_records(rows: list[Record], base_offset: int, base_timestamp: int) -> bytearray:
    """The records behind the header, uncompressed."""
    varint = encode_varint
    out = bytearray()
    previous = base_offset - 1
    for row in rows:
        offset = row.offset
        if offset <= previous:
            raise KafkaError(
                ErrorCode.INVALID_RECORD, f"Offset {offset} does not follow {previous}."
            )
        previous = offset
        key, value, headers = row.key, row.value, row.headers
        timestamp = varint(row.timestamp - base_timestamp)
        delta = varint(offset - base_offset)
        key_length = _NULL if key is None else varint(len(key))
        value_length = _NULL if value is None else varint(len(value))
        body = b"".join(
            (
                b"\x00",  # attributes: none are defined for a record
                timestamp,
                delta,
                key_length,
                key or b"",
                value_length,
                value or b"",
                _encode_headers(headers) if headers else b"\x00",
            )
        )
        out += varint(len(body))
        out += body
    return out


def _encode_headers(headers: Iterable[Header]) -> bytes:
    parts: list[bytes] = []
    count = 0
    for name, value in headers:
        count += 1
        encoded = name.encode()
        parts.append(encode_varint(len(encoded)))
        parts.append(encoded)
        if value is None:
            parts.append(_NULL)
        else:
            parts.append(encode_varint(len(value)))
            parts.append(value)
    return encode_varint(count) + b"".join(parts)
