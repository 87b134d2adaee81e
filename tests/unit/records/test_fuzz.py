"""Damaged input in bulk: only KafkaError may come out, and both walkers must agree."""

from random import Random
from zlib import crc32

import pytest

from headrace.base.errors import KafkaError
from headrace.records import columns, columns_numba
from headrace.records.batch import (
    HEADER_SIZE,
    LOG_OVERHEAD,
    check_batch,
    iter_headers,
    read_header,
)
from headrace.records.builder import build_batch
from headrace.records.column_types import Columns
from headrace.records.deep import recompress, validate_deep
from headrace.records.legacy import iter_any_headers, read_message
from headrace.records.produced import check_produce
from headrace.records.reader import read_batch
from tests.unit.records.samples import CODECS, renew_crc, some_records
from tests.unit.records.test_legacy import message, wrapper

LIMIT = 1 << 20
EDGES = (0x00, 0x01, 0x02, 0x7E, 0x7F, 0x80, 0xFE, 0xFF)


def damage(chance: Random, batch: bytearray, first: int) -> bytearray:
    """Change a few bytes from `first` on, and now and then cut, repeat or insert some."""
    for _ in range(chance.randint(1, 4)):
        position = chance.randrange(first, len(batch))
        batch[position] = chance.choice((*EDGES, chance.randrange(256)))
    kind = chance.randrange(8)
    position = chance.randrange(first, len(batch) + 1)
    if kind == 0:
        del batch[position:]
    elif kind == 1:
        batch[position:position] = chance.randbytes(chance.randint(1, 9))
    elif kind == 2:
        batch += batch[position:]
    return batch


def outcome(decode: object, batch: bytes) -> object:
    assert callable(decode)
    try:
        table: Columns = decode(batch, limit=LIMIT)
    except KafkaError as error:
        return error.code
    return [table.record(row) for row in range(len(table))]


@pytest.mark.parametrize("codec", CODECS)
def test_damaged_records_behind_a_sound_checksum(codec: int) -> None:
    chance = Random(f"records {codec}")
    sources = [build_batch(some_records(n), codec=codec) for n in (1, 2, 8)]
    for _ in range(1500):
        batch = damage(chance, bytearray(chance.choice(sources)), HEADER_SIZE)
        batch[8:12] = (len(batch) - LOG_OVERHEAD).to_bytes(4, "big")
        data = bytes(renew_crc(batch))
        plain = outcome(columns.decode, data)
        assert outcome(columns_numba.decode, data) == plain
        if isinstance(plain, list):
            assert read_batch(data) == plain


def test_damaged_headers_behind_a_sound_checksum() -> None:
    chance = Random("headers")
    source = build_batch(some_records(5))
    for _ in range(6000):
        batch = bytearray(source)
        for _ in range(chance.randint(1, 3)):
            batch[chance.randrange(8, HEADER_SIZE)] = chance.choice(EDGES)
        batch[16] = 2
        batch[8:12] = (len(batch) - LOG_OVERHEAD).to_bytes(4, "big")
        data = bytes(renew_crc(batch))
        assert outcome(columns_numba.decode, data) == outcome(columns.decode, data)
        for function in (
            check_produce,
            lambda data: validate_deep(data, key_required=True, limit=LIMIT),
            lambda data: recompress(data, 3, limit=LIMIT),
        ):
            try:
                function(data)
            except KafkaError:
                continue


def test_anything_at_all_in_a_produce_request() -> None:
    chance = Random("produce")
    source = build_batch(some_records(2))
    for _ in range(30_000):
        data = damage(chance, bytearray(source), 0)
        try:
            check_produce(data)
        except KafkaError:
            continue


def test_anything_at_all_in_a_file() -> None:
    chance = Random("file")
    source = bytearray().join(build_batch(some_records(2, n), base_offset=n) for n in (0, 2, 4))
    for _ in range(8_000):
        data = damage(chance, bytearray(source), 0)
        for walk in (iter_headers, iter_any_headers):
            steps = 0
            try:
                for position, header in walk(data):
                    steps += 1
                    assert position + header.size <= len(data)
                    check_batch(data, position, read_header(data, position))
            except KafkaError:
                pass
            assert steps <= len(data) // 26


def test_damaged_messages_of_the_old_formats() -> None:
    chance = Random("legacy")
    inner = {magic: message(0, b"k", b"v" * 30, magic=magic) * 2 for magic in (0, 1)}
    sources = [message(3, b"key", b"value", magic=magic) for magic in (0, 1)]
    sources += [
        wrapper(9, inner[magic], codec, magic=magic) for magic in (0, 1) for codec in (1, 2, 3)
    ]
    for _ in range(8_000):
        data = damage(chance, bytearray(chance.choice(sources)), 17)
        data[8:12] = (len(data) - LOG_OVERHEAD).to_bytes(4, "big")
        data[12:16] = crc32(data[16:]).to_bytes(4, "big")
        try:
            read_message(data, limit=LIMIT)
        except KafkaError:
            continue
