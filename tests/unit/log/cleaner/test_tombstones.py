"""A key without a value marks the key as deleted, and goes itself only much later."""

from pathlib import Path

import pytest

from headrace.records.codecs import Codec
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
from tests.unit.log.samples import NOW, everything

DAY = 86_400_000
SIEVES = pytest.mark.parametrize("sieve", [dict_sieve, table_sieve])


@SIEVES
def test_a_tombstone_removes_what_came_before_and_stays_as_a_marker(
    tmp_path: Path, sieve: SieveMaker
) -> None:
    log = compacted_log(tmp_path)
    put(log, (b"a", b"1"), (b"b", b"1"))
    put(log, (b"a", None))
    roll(log)
    compact(log, sieve=sieve)
    assert contents(log) == [(1, b"b", b"1"), (2, b"a", None)]


@SIEVES
def test_the_first_round_sets_the_delete_horizon_and_keeps_all_timestamps(
    tmp_path: Path, sieve: SieveMaker
) -> None:
    log = compacted_log(tmp_path)
    put(log, (b"a", None), (b"b", b"1"), (b"c", b"1"), timestamp=NOW - 5000, codec=Codec.ZSTD)
    put(log, (b"c", b"2"))
    roll(log)
    compact(log, now_ms=NOW + 7, sieve=sieve)
    header = headers_of(log)[0]
    assert header.has_delete_horizon
    assert header.base_timestamp == NOW + 7 + DAY
    assert header.max_timestamp == NOW - 4999
    assert header.codec == Codec.ZSTD
    assert [(r.offset, r.timestamp) for r in records_of(log)] == [
        (0, NOW - 5000),
        (1, NOW - 4999),
        (3, NOW),
    ]
    assert not headers_of(log)[1].has_delete_horizon


def test_a_horizon_is_set_once(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    put(log, (b"a", None))
    put(log, (b"b", b"1"))
    roll(log)
    compact(log)
    before = everything(log)
    compact(log, now_ms=NOW + DAY - 1)
    assert everything(log) == before


@SIEVES
def test_a_tombstone_goes_when_its_horizon_has_passed(tmp_path: Path, sieve: SieveMaker) -> None:
    log = compacted_log(tmp_path, delete_retention_ms=1000)
    put(log, (b"a", b"1"))
    put(log, (b"a", None), (b"b", b"1"))
    put(log, (b"c", b"1"))
    roll(log)
    compact(log, sieve=sieve)
    state = replayed(log)
    compact(log, now_ms=NOW + 999, sieve=sieve)
    assert contents(log) == [(1, b"a", None), (2, b"b", b"1"), (3, b"c", b"1")]
    compact(log, now_ms=NOW + 1000, sieve=sieve)
    assert contents(log) == [(2, b"b", b"1"), (3, b"c", b"1")]
    assert replayed(log) == state
    # The batch that had it keeps its horizon, which later tombstones in it would go by.
    assert headers_of(log)[0].base_timestamp == NOW + 1000


def test_a_tombstone_written_anew_is_judged_by_its_own_batch(tmp_path: Path) -> None:
    log = compacted_log(tmp_path, delete_retention_ms=1000)
    put(log, (b"a", None))
    put(log, (b"x", b"1"))
    roll(log)
    compact(log)
    put(log, (b"a", None))
    put(log, (b"y", b"1"))
    roll(log)
    compact(log, now_ms=NOW + 5000)
    assert contents(log) == [(1, b"x", b"1"), (2, b"a", None), (3, b"y", b"1")]


def test_a_tombstone_stays_while_the_round_does_not_reach_it(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    put(log, (b"a", b"1"))
    roll(log)
    put(log, (b"a", None))
    compact(log)
    assert contents(log) == [(0, b"a", b"1"), (1, b"a", None)]


def test_the_last_batch_of_a_round_stays_even_when_all_its_records_go(tmp_path: Path) -> None:
    log = compacted_log(tmp_path, delete_retention_ms=0)
    put(log, (b"a", b"1"))
    put(log, (b"a", None))
    roll(log)
    compact(log)
    compact(log, now_ms=NOW + 1)
    (header,) = headers_of(log)
    assert (header.base_offset, header.record_count) == (1, 0)
    assert header.max_timestamp == NOW
    assert log.segments[0].next_offset() == 2
