"""Compaction of data of Kafka before 0.11: the newest of each key stays, in its format."""

import os
from pathlib import Path

import pytest

from headrace.log.partition_log import PartitionLog
from headrace.records.batch import MAGIC_V2
from headrace.records.codecs import Codec
from headrace.records.legacy import iter_any_headers, read_message
from tests.unit.log.cleaner.old_messages import contents, message, old_log, wrapper
from tests.unit.log.cleaner.samples import SieveMaker, compact, dict_sieve, put, roll, table_sieve
from tests.unit.log.samples import NOW, everything, reload

SIEVES = [dict_sieve, table_sieve]


def magics(log: PartitionLog) -> list[int]:
    return [header.magic for _, header in iter_any_headers(everything(log))]


@pytest.mark.parametrize("sieve", SIEVES)
@pytest.mark.parametrize("magic", [0, 1])
def test_old_messages_give_way_to_newer_ones_of_their_key(
    tmp_path: Path, magic: int, sieve: SieveMaker
) -> None:
    kept = message(magic, 1, b"b", b"2")
    old = message(magic, 0, b"a", b"1") + kept + message(magic, 2, None, b"keyless")
    log = old_log(tmp_path, old)
    put(log, (b"a", b"3"))
    roll(log)
    result = compact(log, sieve=sieve)
    assert contents(log) == [(1, b"b", b"2"), (3, b"a", b"3")]
    assert everything(log).startswith(kept)
    assert magics(log) == [magic, MAGIC_V2]
    assert (result.stats.keyless_records, result.stats.unreadable_batches) == (1, 0)
    assert log.log_end_offset == 4
    again = reload(log, clean=False, recovery_point=0)
    assert contents(again) == [(1, b"b", b"2"), (3, b"a", b"3")]


@pytest.mark.parametrize("sieve", SIEVES)
@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
@pytest.mark.parametrize("magic", [0, 1])
def test_what_is_left_of_a_wrapper_is_a_wrapper_of_the_same_kind(
    tmp_path: Path, magic: int, codec: int, sieve: SieveMaker
) -> None:
    pairs = [(b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"c", b"4"), (b"d", b"5")]
    log = old_log(tmp_path, wrapper(magic, 10, *pairs, codec=codec))
    put(log, (b"d", b"6"))
    roll(log)
    result = compact(log, sieve=sieve)
    assert contents(log) == [(11, b"b", b"2"), (12, b"a", b"3"), (13, b"c", b"4"), (15, b"d", b"6")]
    data = everything(log)
    headers = [header for _, header in iter_any_headers(data)]
    assert [(one.magic, one.codec, one.last_offset) for one in headers] == [
        (magic, codec, 13),
        (MAGIC_V2, Codec.NONE, 15),
    ]
    if magic == 1:
        assert headers[0].max_timestamp == NOW + 3
        assert [record.timestamp for record in read_message(data)] == [NOW + 1, NOW + 2, NOW + 3]
    assert (result.stats.records_read, result.stats.records_written) == (6, 4)
    assert log.read(12, 1 << 20, end_offset=16) == data


def test_a_wrapper_keeps_the_time_at_which_it_was_appended(tmp_path: Path) -> None:
    log = old_log(tmp_path, wrapper(1, 0, (b"a", b"1"), (b"b", b"2"), append_time=NOW + 99))
    put(log, (b"b", b"3"))
    roll(log)
    compact(log)
    (first,) = read_message(everything(log))
    assert (first.offset, first.key, first.timestamp) == (0, b"a", NOW + 99)


def test_a_wrapper_that_loses_nothing_is_not_written_anew(tmp_path: Path) -> None:
    old = wrapper(1, 0, (b"a", b"1"), (b"b", b"2"))
    log = old_log(tmp_path, old)
    put(log, (b"c", b"3"))
    roll(log)
    compact(log)
    assert everything(log).startswith(old)


def test_old_messages_make_older_ones_obsolete_in_a_later_round(tmp_path: Path) -> None:
    """Keys of wrappers are in the map, from the first dirty offset on."""
    log = old_log(tmp_path, message(0, 0, b"a", b"1") + wrapper(1, 1, (b"b", b"2"), (b"a", b"3")))
    roll(log)
    put(log, (b"z", b"9"))
    roll(log)
    compact(log, dirty_from=2)
    assert contents(log) == [(1, b"b", b"2"), (2, b"a", b"3"), (3, b"z", b"9")]


def test_old_tombstones_go_by_the_age_of_files(tmp_path: Path) -> None:
    log = old_log(tmp_path, message(1, 0, b"a", b"1") + message(1, 1, b"a", None))
    roll(log)
    put(log, (b"b", b"2"))
    roll(log)
    compact(log)
    assert contents(log) == [(1, b"a", None), (2, b"b", b"2")]
    # Both are clean now, and have become one segment.
    put(log, (b"c", b"3"))
    roll(log)
    compact(log, dirty_from=3)
    assert (1, b"a", None) in contents(log)


def test_an_old_tombstone_that_readers_had_time_for_goes(tmp_path: Path) -> None:
    retention_ms = 60_000
    log = old_log(tmp_path, message(1, 0, b"a", None), delete_retention_ms=retention_ms)
    roll(log)
    put(log, (b"b", b"2"))
    roll(log)
    put(log, (b"c", b"3"))
    roll(log)
    for segment, age_ms in zip(log.segments, (retention_ms, 0, 0), strict=False):
        at_ns = (NOW - age_ms) * 1_000_000
        os.utime(segment.file.path, ns=(at_ns, at_ns))
    compact(log, dirty_from=2)
    assert [key for _, key, _ in contents(log)] == [b"b", b"c"]


@pytest.mark.parametrize(
    "old",
    [
        message(1, 0, b"a", b"1") + message(1, 1, None, b"x"),
        wrapper(1, 0, (b"a", b"1"), (None, b"x")),
    ],
    ids=["message", "inside a wrapper"],
)
def test_the_last_offset_of_a_round_does_not_vanish(tmp_path: Path, old: bytes) -> None:
    log = old_log(tmp_path, old)
    roll(log)
    compact(log)
    assert contents(log) == [(0, b"a", b"1")]
    headers = [header for _, header in iter_any_headers(everything(log))]
    assert [(one.magic, one.last_offset, one.record_count) for one in headers] == [
        (1, 0, 1),
        (MAGIC_V2, 1, 0),
    ]


def test_a_wrapper_that_keeps_its_last_message_needs_nobody_to_speak_for_it(
    tmp_path: Path,
) -> None:
    """An empty batch at the same offset would end the log there when it is recovered."""
    log = old_log(tmp_path, wrapper(1, 0, (b"a", b"1"), (b"a", b"2")))
    roll(log)
    compact(log)
    put(log, (b"b", b"3"))
    again = reload(log, clean=False, recovery_point=0)
    assert contents(again) == [(1, b"a", b"2"), (2, b"b", b"3")]


def test_a_wrapper_that_cannot_be_read_stays(tmp_path: Path) -> None:
    broken = message(1, 0, None, b"not gzip", attributes=Codec.GZIP)
    log = old_log(tmp_path, broken)
    put(log, (b"a", b"1"))
    roll(log)
    result = compact(log)
    assert everything(log).startswith(broken)
    assert result.stats.unreadable_batches == 1
