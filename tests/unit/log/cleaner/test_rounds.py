"""A round as a whole: how far it reaches, what it leaves on the disk, and how it fails."""

import math
import os
import pickle
from pathlib import Path

import pytest

from headrace.log.cleaner.candidates import make_job
from headrace.log.cleaner.grouping import group_segments
from headrace.log.cleaner.job import CleaningError, CleanJob, CleanResult, SegmentFacts
from headrace.log.cleaner.run import run
from headrace.log.cleaner.sieve import ENTRY_SIZE
from headrace.log.cleaner.throttle import RateThrottle, throttle_for
from headrace.log.config import INT32_MAX
from headrace.log.partition_log import PartitionLog
from headrace.records.batch import read_header, stamp_crc
from tests.unit.log.cleaner.samples import (
    MAP_BYTES,
    SieveMaker,
    compact,
    compacted_log,
    contents,
    dict_sieve,
    headers_of,
    look,
    put,
    replayed,
    roll,
    swap_in,
    table_sieve,
)
from tests.unit.log.samples import NOW, append, batch, everything, file_names, reload


def filled_log(
    directory: Path, rounds: int = 4, keys: int = 10, **settings: object
) -> PartitionLog:
    """Every round writes all keys into a segment of its own."""
    log = compacted_log(directory, **settings)
    for n in range(rounds):
        for key in range(keys):
            put(log, (b"k%d" % key, b"%d-%d" % (n, key)))
        roll(log)
    return log


def job_for(log: PartitionLog, map_bytes: int = MAP_BYTES) -> CleanJob:
    return make_job(look(log), NOW, map_bytes)


def test_a_job_and_its_result_cross_process_boundaries(tmp_path: Path) -> None:
    log = filled_log(tmp_path)
    job = job_for(log)
    sent: CleanJob = pickle.loads(pickle.dumps(job))
    assert sent == job
    received: CleanResult = pickle.loads(pickle.dumps(run(sent)))
    swap_in(log, job, received)
    assert len(contents(log)) == 10
    error: CleaningError = pickle.loads(pickle.dumps(CleaningError("reason", 5)))
    assert (error.reason, error.errno) == ("reason", 5)


@pytest.mark.parametrize("sieve", [dict_sieve, table_sieve])
def test_a_full_map_ends_the_round_early_and_the_next_goes_on(
    tmp_path: Path, sieve: SieveMaker
) -> None:
    log = filled_log(tmp_path, rounds=3, keys=40)
    state = replayed(log)
    entry_size = ENTRY_SIZE if sieve is dict_sieve else 24
    ends = [0]
    while ends[-1] < log.active.base_offset:
        map_bytes = 25 * entry_size
        result = compact(log, dirty_from=ends[-1], map_bytes=map_bytes, sieve=sieve)
        assert result.stats.map_keys <= 25
        assert result.end_offset > ends[-1]
        assert replayed(log) == state
        ends.append(result.end_offset)
    assert ends[1] == 25
    assert len(contents(log)) < 120


def test_a_round_can_end_in_the_middle_of_a_batch(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    put(log, (b"a", b"1"), (b"b", b"1"), (b"c", b"1"), (b"d", b"1"))
    put(log, (b"a", b"2"), (b"d", b"2"))
    roll(log)
    result = compact(log, map_bytes=2 * ENTRY_SIZE)
    assert result.end_offset == 2
    assert len(contents(log)) == 6
    result = compact(log, dirty_from=2, map_bytes=4 * ENTRY_SIZE)
    assert result.end_offset == 6
    assert contents(log) == [(1, b"b", b"1"), (2, b"c", b"1"), (4, b"a", b"2"), (5, b"d", b"2")]


def test_the_clean_part_is_sifted_by_the_keys_of_the_dirty_one(tmp_path: Path) -> None:
    log = filled_log(tmp_path, rounds=2)
    end = compact(log).end_offset
    put(log, (b"k3", b"new"))
    roll(log)
    result = compact(log, dirty_from=end)
    assert result.stats.map_keys == 1
    assert [value for _, key, value in contents(log) if key == b"k3"] == [b"new"]
    assert len(contents(log)) == 10


@pytest.mark.parametrize("damage", [b"", bytes(8) * 30, b"\x00\x00\x00\x05\x00\x00\x00\x07" * 30])
def test_the_dirty_part_is_found_whatever_the_index_says(tmp_path: Path, damage: bytes) -> None:
    log = compacted_log(tmp_path, index_interval_bytes=64)
    for n in range(30):
        put(log, (b"k%d" % (n % 10), b"%d" % n))
    roll(log)
    assert len(log.segments[0].offset_index) > 10
    if damage:
        Path(log.segments[0].offset_index.path).write_bytes(damage)
    result = run(make_job(look(log, dirty_from=25), NOW, MAP_BYTES))
    assert result.stats.map_keys == 5
    assert result.end_offset == 30
    if not damage:
        assert result.stats.map_bytes_read < log.segments[0].size // 2


def test_small_segments_become_one(tmp_path: Path) -> None:
    log = filled_log(tmp_path, rounds=5)
    active = log.active.base_offset
    assert len(log.segments) == 6
    compact(log)
    assert log.segments.base_offsets == [0, active]
    names = [name for name in file_names(log) if name.startswith("0" * 20)]
    assert "00000000000000000000.log" in names
    assert not [name for name in file_names(log) if name.endswith((".cleaned", ".swap"))]


def test_groups_stay_within_the_size_of_a_segment(tmp_path: Path) -> None:
    log = filled_log(tmp_path, rounds=4)
    size = log.segments[0].size
    log.config = type(log.config)(
        cleanup_policy=log.config.cleanup_policy, segment_bytes=2 * size + 1
    )
    result = compact(log)
    assert [cleaned.replaced for cleaned in result.segments] == [(0, 10), (20, 30)]
    assert log.segments.base_offsets == [0, 20, 40]
    assert len(contents(log)) == 10
    # All of the first group is gone; the segment stays, empty, and readers pass over it.
    assert log.segments[0].size == 0
    assert len(contents(reload(log, clean=False, recovery_point=0))) == 10


def test_groups_stay_within_index_sizes_and_offset_range() -> None:
    def facts(base_offset: int, size: int = 10, index: int = 8) -> SegmentFacts:
        return SegmentFacts(base_offset, size, index, index, 0)

    def bases(segments: list[SegmentFacts], index_bytes: int = 1000) -> list[list[int]]:
        groups = group_segments(
            segments, segment_bytes=1000, index_bytes=index_bytes, end_offset=INT32_MAX + 11
        )
        return [[segment.base_offset for segment in group] for group in groups]

    assert bases([facts(0), facts(5), facts(9)]) == [[0, 5], [9]]
    assert bases([facts(0), facts(5), facts(9, size=0)]) == [[0, 5, 9]]
    assert bases([facts(10), facts(15), facts(19)]) == [[10, 15, 19]]
    assert bases([facts(10), facts(15), facts(19)], index_bytes=16) == [[10, 15], [19]]
    assert bases([]) == []


def test_a_cleaned_segment_is_indexed_and_as_old_as_its_data(tmp_path: Path) -> None:
    log = filled_log(tmp_path, rounds=3, keys=60, index_interval_bytes=200)
    path = log.segments[2].file.path
    os.utime(path, ns=(10**18, 10**18))
    compact(log)
    segment = log.segments[0]
    assert os.stat(segment.file.path).st_mtime_ns == 10**18
    assert len(segment.offset_index) > 10
    for offset in (120, 150, 179):
        data = log.read(offset, 1, end_offset=180)
        assert read_header(data).base_offset == offset
    assert log.log_end_offset == 180


def test_reads_begin_where_a_removed_offset_was(tmp_path: Path) -> None:
    log = filled_log(tmp_path, rounds=2)
    compact(log)
    assert read_header(log.read(3, 1 << 20, end_offset=20)).base_offset == 10


def test_a_batch_whose_records_cannot_be_read_stays_as_it_is(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    put(log, (b"a", b"1"))
    bad = batch(3)
    bad[61] = 0x7F  # the first record claims more bytes than there are
    stamp_crc(bad, 0, len(bad))
    append(log, bad)
    put(log, (b"a", b"2"))
    roll(log)
    result = compact(log)
    assert result.stats.unreadable_batches == 1
    assert [header.base_offset for header in headers_of(log)] == [1, 4]


def test_a_batch_larger_than_a_piece_of_reading_is_cleaned(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    put(log, (b"a", b"x" * 5_000_000), (b"b", b"1"))
    put(log, (b"a", b"2"))
    roll(log)
    compact(log)
    assert contents(log) == [(1, b"b", b"1"), (2, b"a", b"2")]


def test_a_flipped_bit_fails_the_round_and_leaves_no_trace(tmp_path: Path) -> None:
    log = filled_log(tmp_path)
    path = log.segments[1].file.path
    data = bytearray(Path(path).read_bytes())
    data[100] ^= 1
    Path(path).write_bytes(data)
    before = file_names(log)
    with pytest.raises(CleaningError, match="corrupt") as caught:
        run(job_for(log))
    assert caught.value.errno is None
    assert file_names(log) == before


def test_a_log_that_vanishes_fails_the_round_with_the_reason(tmp_path: Path) -> None:
    log = filled_log(tmp_path)
    job = job_for(log)
    log.rename_directory(str(tmp_path / "elsewhere"))
    with pytest.raises(CleaningError, match="No such file") as caught:
        run(job)
    assert caught.value.errno == 2


def test_leftovers_of_a_killed_round_are_overwritten(tmp_path: Path) -> None:
    log = filled_log(tmp_path)
    leftover = Path(log.directory, "00000000000000000000.log.cleaned")
    leftover.write_bytes(b"half a batch")
    compact(log)
    assert len(contents(log)) == 10
    assert not leftover.exists()


def test_the_rate_limit_pauses_as_long_as_the_bytes_take() -> None:
    now, pauses = [0.0], []

    def pause(wanted_ms: float) -> None:
        pauses.append(wanted_ms)
        now[0] += wanted_ms

    throttle = RateThrottle(1000.0, lambda: now[0], pause)
    throttle(500)
    now[0] += 100
    throttle(100)
    throttle(0)
    assert pauses == [500.0]
    throttle(1400)
    assert pauses == [500.0, 1400.0]


@pytest.mark.parametrize("rate", [0.0, -0.0, -5.0, math.inf, math.nan])
def test_a_rate_at_which_no_byte_would_pass_is_no_limit(rate: float) -> None:
    pauses: list[float] = []
    throttle_for(rate, lambda: 0.0, pauses.append)(10**9)
    assert pauses == []


@pytest.mark.parametrize("rate", [5e-324, 1e-9])
def test_no_pause_is_longer_than_an_hour_however_low_the_rate_is(rate: float) -> None:
    pauses: list[float] = []
    throttle = throttle_for(rate, lambda: 0.0, pauses.append)
    throttle(1000)
    assert pauses == [3_600_000.0]


def test_a_round_tells_the_throttle_of_all_it_reads_and_writes(tmp_path: Path) -> None:
    log = filled_log(tmp_path)
    told: list[int] = []
    size = sum(segment.size for segment in list(log.segments)[:-1])
    result = compact(log, throttle=told.append)
    assert sum(told) == 2 * size + result.stats.bytes_written


def test_the_last_offset_survives_when_everything_before_the_end_goes(tmp_path: Path) -> None:
    log = compacted_log(tmp_path)
    put(log, (b"a", b"1"))
    put(log, (None, b"no key"))
    roll(log)
    compact(log)
    assert everything(reload(log, clean=False, recovery_point=0)) == everything(log)
    assert reload(log, clean=True).log_end_offset == 2
