"""Whose batch it is: the producer's fields, put into a batch when its turn to be sent is known.

The sequence of a batch is settled last, after encoding and compression, since several writers may
share one producer; the checksum covers it and is therefore made here.
"""

from struct import Struct

from headrace.records.batch import HEADER_SIZE, TRANSACTIONAL_FLAG, stamp_crc

_ATTRIBUTES = Struct(">h")
_ATTRIBUTES_AT = 21
_PRODUCER = Struct(">qhi")
_PRODUCER_AT = 43

#: Sequences are counted per record and start over after the largest number of 31 bits.
SEQUENCES = 1 << 31


def stamp_producer(
    batch: bytearray, producer_id: int, epoch: int, sequence: int, *, transactional: bool = False
) -> None:
    """Fill in producer id, epoch and first sequence, and make the checksum right."""
    if len(batch) < HEADER_SIZE:
        raise ValueError("This is no batch.")
    if transactional:
        (attributes,) = _ATTRIBUTES.unpack_from(batch, _ATTRIBUTES_AT)
        _ATTRIBUTES.pack_into(batch, _ATTRIBUTES_AT, attributes | TRANSACTIONAL_FLAG)
    _PRODUCER.pack_into(batch, _PRODUCER_AT, producer_id, epoch, sequence)
    stamp_crc(batch, 0, len(batch))


def next_sequence(sequence: int, count: int) -> int:
    """The sequence after `count` records."""
    return (sequence + count) % SEQUENCES
