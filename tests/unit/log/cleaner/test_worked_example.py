"""The worked example of log compaction that the literature uses, and what every round keeps to."""

from pathlib import Path

import pytest

from headrace.log.partition_log import PartitionLog
from headrace.records.builder import build_batch
from headrace.records.codecs import Codec
from headrace.records.record import Record
from tests.unit.log.cleaner.samples import (
    SieveMaker,
    compact,
    compacted_log,
    contents,
    dict_sieve,
    headers_of,
    put,
    records_of,
    replayed,
    roll,
    table_sieve,
)
from tests.unit.log.samples import NOW, everything, reload

BEFORE = [
    (13, b"K1", b"V5"),
    (17, b"K5", b"V2"),
    (19, b"K2", b"V7"),
    (20, b"K7", b"V1"),
    (21, b"K8", b"V4"),
    (22, b"K4", b"V6"),
    (23, b"K1", b"V1"),
    (24, b"K1", b"V2"),
    (25, b"K1", b"V9"),
    (26, b"K9", b"V6"),
    (27, b"K8", b"V22"),
    (28, b"K2", b"V25"),
]
AFTER = [
    (17, b"K5", b"V2"),
    (20, b"K7", b"V1"),
    (22, b"K4", b"V6"),
    (25, b"K1", b"V9"),
    (26, b"K9", b"V6"),
    (27, b"K8", b"V22"),
    (28, b"K2", b"V25"),
]


def example(directory: Path, batches: list[list[tuple[int, bytes, bytes]]]) -> PartitionLog:
    """The log of the example, with the gaps an earlier round left, cut into batches."""
    log = compacted_log(directory)
    for rows in batches:
        records = [Record(offset, NOW + offset, key, value) for offset, key, value in rows]
        data = build_batch(records, base_offset=rows[0][0], leader_epoch=0)
        log.append_as_follower(data, now_ms=NOW)
    roll(log)
    return log


@pytest.mark.parametrize("sieve", [dict_sieve, table_sieve])
@pytest.mark.parametrize("size", [1, 2, 5, 12])
def test_the_newest_value_of_each_key_survives_at_its_offset(
    tmp_path: Path, size: int, sieve: SieveMaker
) -> None:
    batches = [BEFORE[start : start + size] for start in range(0, len(BEFORE), size)]
    log = example(tmp_path, batches)
    assert contents(log) == BEFORE
    state = replayed(log)

    result = compact(log, sieve=sieve)

    assert contents(log) == AFTER
    assert replayed(log) == state
    assert log.log_end_offset == 29
    assert (result.stats.records_read, result.stats.records_written) == (12, 7)
    assert contents(reload(log, clean=False, recovery_point=0)) == AFTER


def test_a_second_round_changes_no_byte(tmp_path: Path) -> None:
    log = example(tmp_path, [BEFORE[:7], BEFORE[7:]])
    result = compact(log)
    after = everything(log)
    compact(log, dirty_from=result.end_offset)
    compact(log)
    assert everything(log) == after


@pytest.mark.parametrize("codec", list(Codec))
def test_a_thinned_batch_keeps_its_compression_and_its_range(tmp_path: Path, codec: Codec) -> None:
    log = compacted_log(tmp_path)
    pairs: list[tuple[bytes | None, bytes | None]] = [
        (b"k%d" % (n % 7), b"v" * 50 + b"%d" % n) for n in range(40)
    ]
    put(log, *pairs, codec=codec, headers=[("h", b"x"), ("n", None)])
    roll(log)
    compact(log)
    (header,) = headers_of(log)
    assert (header.base_offset, header.last_offset, header.record_count) == (0, 39, 7)
    assert header.codec == codec
    assert header.max_timestamp == NOW + 39
    records = records_of(log)
    assert [record.offset for record in records] == list(range(33, 40))
    assert [record.timestamp for record in records] == [NOW + n for n in range(33, 40)]
    assert all(list(record.headers) == [("h", b"x"), ("n", None)] for record in records)


def test_the_largest_timestamp_is_that_of_the_records_that_stay(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    put(log, (b"a", b"1"), (b"b", b"1"), (b"c", b"1"), timestamp=NOW)
    put(log, (b"c", b"2"), timestamp=NOW - 1000)
    roll(log)
    compact(log)
    assert [header.max_timestamp for header in headers_of(log)] == [NOW + 1, NOW - 1000]
    assert log.segments[0].max_timestamp_and_offset() == (NOW + 1, 2)


def test_log_append_time_survives(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    put(log, (b"a", b"1"), (b"b", b"1"), (b"a", b"2"), append_time=NOW + 500)
    roll(log)
    compact(log)
    assert [(r.offset, r.timestamp) for r in records_of(log)] == [(1, NOW + 500), (2, NOW + 500)]


def test_records_without_a_key_are_dropped(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    put(log, (None, b"lost"), (b"a", b"1"), (None, b"lost too"))
    put(log, (None, b"alone"))
    put(log, (b"b", b"1"))
    roll(log)
    result = compact(log)
    assert contents(log) == [(1, b"a", b"1"), (4, b"b", b"1")]
    assert result.stats.keyless_records == 3


def test_an_empty_key_is_a_key(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    put(log, (b"", b"1"), (b"", b"2"))
    put(log, (b"x", b""))
    roll(log)
    compact(log)
    assert contents(log) == [(1, b"", b"2"), (2, b"x", b"")]


def test_long_keys_are_told_apart(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    for n in range(3):
        put(log, (b"k" * 31, b"%d" % n), (b"k" * 32, b"%d" % n), (b"k" * 999 + b"x", b"%d" % n))
    put(log, (b"k" * 999 + b"y", b"9"))
    roll(log)
    compact(log)
    assert [(offset, key) for offset, key, _ in contents(log)] == [
        (6, b"k" * 31),
        (7, b"k" * 32),
        (8, b"k" * 999 + b"x"),
        (9, b"k" * 999 + b"y"),
    ]
