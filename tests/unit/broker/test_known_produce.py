"""Produces that are known: what may be wrong with a batch, or with all there is around it."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.base.errors import ErrorCode
from headrace.records.codecs import Codec
from tests.unit.broker.batches import NOW, batch, damaged, end_offset, produce_request, stored
from tests.unit.broker.frames import request_frame
from tests.unit.broker.known_writing import VERSION, codes, known_writer, send
from tests.unit.broker.twins import Twins

MAGIC_AT, CRC_AT = 16, 17


@pytest.fixture
def twins(tmp_path: Path, served: Counter[str]) -> Iterator[Twins]:
    yield from known_writer(tmp_path, served)


def sequenced(sequence: int, count: int = 1, epoch: int = 0, producer_id: int = 7) -> bytearray:
    return batch(
        count, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, value=b"s"
    )


# Batches


def refused_batches() -> dict[str, tuple[bytes | bytearray | None, int]]:
    second = bytearray(batch() + batch())
    far, near = NOW + 10**10, NOW - 10**14
    return {
        "null": (None, ErrorCode.INVALID_RECORD),
        "nothing": (b"", ErrorCode.INVALID_RECORD),
        "a piece": (batch()[:50], ErrorCode.INVALID_RECORD),
        "two batches": (second, ErrorCode.INVALID_RECORD),
        "wrong checksum": (damaged(batch(), CRC_AT, 1), ErrorCode.CORRUPT_MESSAGE),
        "old magic": (damaged(batch(), MAGIC_AT, 1), ErrorCode.INVALID_RECORD),
        "new magic": (damaged(batch(), MAGIC_AT, 3), ErrorCode.CORRUPT_MESSAGE),
        "a base offset": (damaged(batch(), 7, 1), ErrorCode.INVALID_RECORD),
        "append time": (damaged(batch(), 22, 8, sound_crc=True), ErrorCode.INVALID_TIMESTAMP),
        "control": (damaged(batch(), 22, 32, sound_crc=True), ErrorCode.INVALID_RECORD),
        "no such codec": (
            damaged(batch(), 22, 7, sound_crc=True),
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
        ),
        "too large": (batch(value=b"x" * 1_100_000), ErrorCode.MESSAGE_TOO_LARGE),
        "from the future": (batch(timestamp=far), ErrorCode.INVALID_TIMESTAMP),
        "from the past": (batch(timestamp=near), ErrorCode.NONE),
        "no sequence": (
            batch(producer_id=5, producer_epoch=0, base_sequence=-1),
            ErrorCode.INVALID_RECORD,
        ),
    }


@pytest.mark.parametrize("kind", refused_batches())
def test_a_batch_that_is_refused_is_refused_in_the_ordinary_way(twins: Twins, kind: str) -> None:
    data, code = refused_batches()[kind]
    for wanted in ([code], [code, ErrorCode.NONE]):
        before = end_offset(twins.knowing)
        pair = send(twins, *[data, batch()][: len(wanted)])
        assert codes(pair) == wanted
        assert end_offset(twins.knowing) == before + (code == ErrorCode.NONE)
        twins.check()


def test_bytes_behind_a_batch_are_cut_off(twins: Twins, served: Counter[str]) -> None:
    assert codes(send(twins, batch() + b"behind")) == [ErrorCode.NONE]
    assert served == {"produce declined": 1}
    assert len(stored(twins.knowing)) == 4


def test_a_transactional_batch_goes_the_ordinary_way(twins: Twins, served: Counter[str]) -> None:
    data = batch(producer_id=7, producer_epoch=0, base_sequence=0, transactional=True)
    assert codes(send(twins, data)) != [ErrorCode.NONE]
    assert served == {"produce declined": 1}
    assert end_offset(twins.knowing) == 3


def test_compressed_batches_are_known_as_well(twins: Twins, served: Counter[str]) -> None:
    for codec in Codec:
        assert codes(send(twins, batch(10, codec=codec))) == [ErrorCode.NONE]
    assert served == {"produce": len(Codec)}


def test_a_duplicate_is_answered_like_the_first_and_not_written(
    twins: Twins, served: Counter[str]
) -> None:
    for sequence in (0, 2, 4):
        for _ in range(3):
            (result,) = (
                send(twins, sequenced(sequence, 2)).response.responses[0].partition_responses
            )
            assert (result.error_code, result.base_offset) == (0, 3 + sequence)
    assert end_offset(twins.knowing) == 9
    assert served == {"produce": 9}


def test_a_sequence_out_of_order_is_refused(twins: Twins) -> None:
    wrong = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert codes(send(twins, sequenced(0))) == [0]
    assert codes(send(twins, sequenced(5))) == [wrong]
    assert codes(send(twins, sequenced(1), sequenced(0))) == [0, 0]
    assert codes(send(twins, sequenced(7), sequenced(1))) == [wrong, 0]
    assert codes(send(twins, sequenced(2), sequenced(9))) == [0, wrong]
    assert codes(send(twins, sequenced(9), sequenced(9))) == [wrong, wrong]
    assert codes(send(twins, sequenced(0, epoch=1))) == [0]
    assert codes(send(twins, sequenced(3))) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert [end_offset(twins.knowing, index=index) for index in (0, 1)] == [7, 2]


def test_the_same_partition_may_come_twice(twins: Twins, served: Counter[str]) -> None:
    request = produce_request(("t", 0, sequenced(0)), ("t", 0, sequenced(1)), ("t", 0, batch()))
    assert codes(twins.send(request, VERSION)) == [0, 0, 0]
    request = produce_request(("t", 0, sequenced(2)), ("t", 0, sequenced(2)), ("t", 0, batch()))
    assert codes(twins.send(request, VERSION)) == [0, 0, 0]
    assert served == {"produce": 2}


def test_hundreds_of_partitions_at_once(twins: Twins, served: Counter[str]) -> None:
    twins.create_topic("many", 200)
    for size in (1, 1, 1, 126, 127, 128, 200):
        parts = [("many", index, batch()) for index in range(size)]
        assert codes(twins.send(produce_request(*parts), VERSION)) == [0] * size
    assert served["produce"] == 5
    parts = [("many", index, batch()) for index in (0, 1, 999)]
    missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes(twins.send(produce_request(*parts), VERSION)) == [0, 0, missing]


def test_tags_that_nobody_knows_are_not_taken_for_partitions(twins: Twins) -> None:
    strange = produce_request(("t", 0, batch()), timeout_ms=77)
    strange.topic_data[0].partition_data = []
    frame = request_frame(strange, VERSION)
    assert frame.endswith(b"\x01\x00\x00")  # no partitions, no tags of the topic, none here
    tagged = frame[:-2] + b"\x01\x05\x01\x00" + b"\x00"
    for _ in range(3):
        twins.send_frame(tagged, strange, VERSION)
    data = batch()
    length = bytes((len(data) + 1 & 0x7F | 0x80, len(data) + 1 >> 7))
    ambiguous = tagged[:-3] + b"\x02" + bytes(4) + length + data + b"\x00" + b"\x00\x00"
    pair = twins.send_frame(ambiguous, strange, VERSION)
    assert codes(pair) == []
    assert end_offset(twins.knowing) == 3
