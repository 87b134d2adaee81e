"""Batches of plain keys and values, all of one time and without headers: what coordinators write.

Commits are many and small, so their records are put together here with less than the general
builder needs for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from headrace.records.batch import TRANSACTIONAL_FLAG
from headrace.records.builder import frame_batch
from headrace.records.codecs import Codec, compress
from headrace.records.varint import encode_varint

#: Key and value of a record; no value for a tombstone.
Pair = tuple[bytes, bytes | None]

#: The size of a value that is not there.
_NULL = -1
_NO_HEADERS = b"\x00"
#: Attributes, and no distance from the time of the batch.
_START = b"\x00\x00"
#: Sizes of key and value that come back with every commit.
_REMEMBERED = 1024


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
        value_size = _NULL if value is None else len(value)
        start, key_length, value_length = _lengths(len(offset), len(key), value_size)
        out += (start, offset, key_length, key, value_length, value or b"", _NO_HEADERS)
    return b"".join(out)


@lru_cache(_REMEMBERED)
def _lengths(offset_size: int, key_size: int, value_size: int) -> tuple[bytes, bytes, bytes]:
    """A record up to its offset, and what stands before its key and before its value."""
    key_length, value_length = encode_varint(key_size), encode_varint(value_size)
    size = (
        len(_START)
        + offset_size
        + len(key_length)
        + key_size
        + len(value_length)
        + max(value_size, 0)
        + len(_NO_HEADERS)
    )
    return encode_varint(size) + _START, key_length, value_length
