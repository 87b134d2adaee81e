"""Batches of plain keys and values, all of one time and without headers: what coordinators write.

Commits are many and small, so their records are put together here with less than the general
builder needs for each.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.records.batch import TRANSACTIONAL_FLAG
from headrace.records.builder import frame_batch
from headrace.records.codecs import Codec, compress
from headrace.records.varint import encode_varint

#: Key and value of a record; no value for a tombstone.
Pair = tuple[bytes, bytes | None]

_NULL = b"\x01"  # the varint -1
_NO_HEADERS = b"\x00"
#: Attributes, and no distance from the time of the batch.
_START = b"\x00\x00"


def encoded_batch(
    payload: bytes,
    record_count: int,
    timestamp_ms: int,
    *,
    codec: int = Codec.NONE,
    producer_id: int = -1,
    producer_epoch: int = -1,
    transactional: bool = False,
) -> bytearray:
    """A batch of records that `encode_pairs` made."""
    return frame_batch(
        payload if codec == Codec.NONE else compress(codec, payload),
        base_offset=0,
        leader_epoch=-1,
        attributes=codec | (TRANSACTIONAL_FLAG if transactional else 0),
        last_offset_delta=record_count - 1,
        base_timestamp=timestamp_ms,
        max_timestamp=timestamp_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        record_count=record_count,
    )


def encode_pairs(pairs: Sequence[Pair], first: int = 0) -> bytes:
    """The records behind the header of a batch, or some of them from the one numbered `first`."""
    varint = encode_varint
    out: list[bytes] = []
    for delta, (key, value) in enumerate(pairs, first):
        offset = varint(delta)
        key_size = varint(len(key))
        size = len(_START) + len(offset) + len(key_size) + len(key) + len(_NO_HEADERS)
        if value is None:
            out += (varint(size + 1), _START, offset, key_size, key, _NULL, _NO_HEADERS)
        else:
            value_size = varint(len(value))
            size += len(value_size) + len(value)
            out += (varint(size), _START, offset, key_size, key, value_size, value, _NO_HEADERS)
    return b"".join(out)
