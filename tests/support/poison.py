"""Batches that no sane producer sends, by name."""

import struct
import time
from collections.abc import Callable

import crc32c

from headrace.records.builder import build_batch
from headrace.records.codecs import Codec, compress
from headrace.records.record import Record
from headrace.records.varint import encode_varint
from tests.support.raw_producer import numbered_batch

_CRC_POSITION = 17
_ATTRIBUTES = 21
_LAST_OFFSET_DELTA = 23
_BASE_TIMESTAMP = 27
_MAX_TIMESTAMP = 35
_PRODUCER_ID = 43
_RECORD_COUNT = 57
_HEADER = 61

Batch = bytes | bytearray


def with_crc(batch: bytearray) -> bytearray:
    """A batch whose checksum is right, whatever else is wrong."""
    struct.pack_into(">I", batch, _CRC_POSITION, crc32c.crc32c(bytes(batch[_ATTRIBUTES:])))
    return batch


def changed(position: int, form: str, *values: int) -> bytearray:
    """A good batch of three records with one field changed and the checksum made to fit."""
    batch = numbered_batch(0, 3)
    struct.pack_into(form, batch, position, *values)
    return with_crc(batch)


def framed(payload: bytes, *, codec: int = 0, count: int = 1) -> bytearray:
    """Any bytes in place of records, under a header that fits."""
    batch = numbered_batch(0, 1)[:_HEADER] + payload
    struct.pack_into(">i", batch, 8, len(batch) - 12)
    struct.pack_into(">h", batch, _ATTRIBUTES, codec)
    struct.pack_into(">i", batch, _LAST_OFFSET_DELTA, count - 1)
    struct.pack_into(">i", batch, _RECORD_COUNT, count)
    return with_crc(batch)


def _bad_crc() -> Batch:
    batch = numbered_batch(0, 3)
    batch[-1] ^= 1
    return batch


def _of_magic(magic: int) -> Batch:
    batch = numbered_batch(0, 3)
    batch[16] = magic
    return batch


def _of_length(length: int) -> Batch:
    batch = numbered_batch(0, 3)
    struct.pack_into(">i", batch, 8, length)
    return batch


def _from_the_future() -> Batch:
    record = Record(0, int(time.time() * 1000) + 10 * 3_600_000, b"k", b"v", ())
    return build_batch([record])


def _in_no_transaction() -> Batch:
    batch = numbered_batch(0, 3, producer_id=5, producer_epoch=0, base_sequence=0)
    struct.pack_into(">h", batch, _ATTRIBUTES, 0x10)
    return with_crc(batch)


def stamped_by_its_producer() -> Batch:
    """Says that the broker set its timestamps."""
    return changed(_ATTRIBUTES, ">h", 0x08)


#: What a look at the header tells.
HEADER_POISON: dict[str, Callable[[], Batch]] = {
    "bad crc": _bad_crc,
    "magic 0": lambda: _of_magic(0),
    "magic 1": lambda: _of_magic(1),
    "magic 3": lambda: _of_magic(3),
    "magic 255": lambda: _of_magic(255),
    "length 0": lambda: _of_length(0),
    "length -1": lambda: _of_length(-1),
    "length of another age": lambda: _of_length(-(2**31)),
    "length beyond the bytes": lambda: _of_length(10_000),
    "length short of a header": lambda: _of_length(40),
    "nothing": lambda: b"",
    "three bytes": lambda: b"abc",
    "half a batch": lambda: numbered_batch(0, 3)[:70],
    "two batches": lambda: numbered_batch(0, 3) + numbered_batch(3, 3),
    "no records": lambda: framed(b"", count=0),
    "count above delta": lambda: changed(_RECORD_COUNT, ">i", 4),
    "count negative": lambda: changed(_RECORD_COUNT, ">i", -1),
    "count huge": lambda: changed(_RECORD_COUNT, ">i", 2**31 - 1),
    "delta below count": lambda: changed(_LAST_OFFSET_DELTA, ">i", 1),
    "delta negative": lambda: changed(_LAST_OFFSET_DELTA, ">i", -1),
    "control batch": lambda: changed(_ATTRIBUTES, ">h", 0x20),
    "codec 5": lambda: changed(_ATTRIBUTES, ">h", 5),
    "codec 7": lambda: changed(_ATTRIBUTES, ">h", 7),
    "in no transaction": _in_no_transaction,
    "producer without a sequence": lambda: changed(_PRODUCER_ID, ">qhi", 5, 0, -1),
    "timestamp in the future": _from_the_future,
}

#: What only a look at the records tells.
INNER_POISON: dict[str, Callable[[], Batch]] = {
    "garbage for records": lambda: framed(b"\xff" * 40),
    "no bytes for a record": lambda: framed(b""),
    "record longer than the batch": lambda: framed(b"\x7e\x00\x00\x00\x01\x01\x00"),
    "record of negative length": lambda: framed(b"\x01\x00\x00\x00\x01\x01\x00"),
    "fewer records than counted": lambda: framed(bytes(numbered_batch(0, 1)[_HEADER:]), count=3),
    "more records than counted": lambda: framed(bytes(numbered_batch(0, 3)[_HEADER:]), count=1),
    **{
        f"{codec.name.lower()} of garbage": lambda codec=codec: framed(b"\xff" * 40, codec=codec)  # type: ignore[misc]
        for codec in Codec
        if codec
    },
    **{
        f"{codec.name.lower()} cut short": lambda codec=codec: framed(  # type: ignore[misc]
            compress(codec, bytes(numbered_batch(0, 500)[_HEADER:]))[:-100], codec=codec, count=500
        )
        for codec in Codec
        if codec
    },
}


def bomb(codec: Codec, size: int) -> Batch:
    """A small batch that claims one record of `size` bytes, all of them zero."""
    payload = compress(codec, bytes(size))
    return framed(payload, codec=codec)


def swarm(count: int) -> Batch:
    """Very many records of nothing in few bytes; the batch claims to be newer than all of them."""
    varint = encode_varint
    bodies = (b"\x00\x00" + varint(number) + b"\x01\x01\x00" for number in range(count))
    payload = b"".join(varint(len(body)) + body for body in bodies)
    batch = framed(compress(Codec.ZSTD, payload), codec=Codec.ZSTD, count=count)
    (base,) = struct.unpack_from(">q", batch, _BASE_TIMESTAMP)
    struct.pack_into(">q", batch, _MAX_TIMESTAMP, base + 1)
    return with_crc(batch)
