"""Whatever stands in `__consumer_offsets`, a record is decoded, left alone or refused.

A node that met anything else while it loads a coordinator's partition would lead it no more.
FUZZ_SEED tries other inputs.
"""

import os
import random

from headrace.groups import records
from headrace.groups.offset_codec import decode_offset, encode_offset
from headrace.groups.record_codec import GroupRecordCodec
from headrace.groups.records import OffsetCommitKey, OffsetCommitValue
from headrace.protocol import compiler
from headrace.protocol.coordinator_record import CoordinatorRecord
from tests.support.message_values import sample_messages
from tests.unit.protocol.damaged_records import Pair, check_decoder
from tests.unit.protocol.mutations import damaged

SEED = int(os.environ.get("FUZZ_SEED", "20240917"))
INPUTS = 30_000

codec = GroupRecordCodec()


def _head(number: int) -> bytes:
    return number.to_bytes(2, "big")


def _classes(suffix: str) -> dict[str, type[CoordinatorRecord]]:
    return {
        name.removesuffix(suffix): cls
        for name, cls in vars(records).items()
        if name.endswith(suffix) and isinstance(cls, type) and issubclass(cls, CoordinatorRecord)
    }


def _samples(cls: type[CoordinatorRecord], version: int, head: int) -> list[bytes]:
    """Sound messages behind two bytes, without those whose length slows the run down."""
    found = [
        _head(head) + compiler.encode(message, version)
        for _, message in sample_messages(cls, version)
    ]
    return [data for data in found if len(data) < 2_000] or found[:1]


def _every_kind() -> list[tuple[list[bytes], list[bytes]]]:
    """Keys and values of each kind of record, for each version of its value."""
    keys, values = _classes("Key"), _classes("Value")
    assert keys.keys() == values.keys()
    return [
        (_samples(keys[name], 0, keys[name].record_type), _samples(value, version, version))
        for name, value in values.items()
        for version in range(value.versions.low, (value.versions.high or 0) + 1)
    ]


def _pair(chance: random.Random, keys: list[bytes], values: list[bytes]) -> Pair:
    """A record with damage in its key, in its value or in both."""
    where = chance.randrange(3)
    key = chance.choice(keys) if where == 0 else damaged(chance, keys)
    value = chance.choice(values) if where == 1 else damaged(chance, values)
    return key, value


def test_a_damaged_record_is_decoded_or_left_alone_or_refused() -> None:
    chance = random.Random(SEED)
    kinds = _every_kind()
    each = INPUTS // len(kinds)
    check_decoder(codec, (_pair(chance, *kind) for kind in kinds for _ in range(each)))


def test_the_short_way_for_offsets_reads_what_the_long_way_reads() -> None:
    chance = random.Random(SEED)
    keys = _samples(OffsetCommitKey, 0, OffsetCommitKey.record_type)
    values = _samples(OffsetCommitValue, 4, 4)
    read = 0
    for _ in range(INPUTS):
        key, value = _pair(chance, keys, values)
        found = decode_offset(key, value)
        if found is not None:
            read += 1
            known = compiler.read(OffsetCommitKey, 0, key, 2)[0]
            stored = compiler.read(OffsetCommitValue, 4, value, 2)[0]
            assert found == (known, stored), (key.hex(), value.hex())
            assert _again(encode_offset(*found)) in (None, found), (key.hex(), value.hex())
    assert read > INPUTS // 50


def _again(
    encoded: tuple[bytes, bytes | None] | None,
) -> tuple[OffsetCommitKey, OffsetCommitValue] | None:
    return None if encoded is None or encoded[1] is None else decode_offset(encoded[0], encoded[1])
