"""Periodic work on all logs of a node, in pieces, and compaction from decision to swap."""

import errno
import math
import os
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.base.uuids import random_uuid
from headrace.log import flushing
from headrace.log.cleaner.job import CleaningError
from headrace.log.cleaner.run import run
from headrace.log.config import LogConfig
from headrace.log.errors import LogDirFailure
from headrace.log.log_maintenance import LogMaintenance
from headrace.log.log_manager import LogManager
from headrace.log.log_registry import LogManagerConfig
from headrace.log.partition_log import PartitionLog
from headrace.log.segment import Segment
from headrace.log.swapping import DirectorySync
from tests.unit.log.cleaner.samples import contents, put
from tests.unit.log.nodes import end_offset, format_directories, kill, start, stop
from tests.unit.log.samples import NOW, TOPIC_ID, append, batch, finished

COMPACT = LogConfig(cleanup_policy=frozenset({"compact"}), file_delete_delay_ms=0)
BOTH = LogConfig(
    cleanup_policy=frozenset({"compact", "delete"}), retention_ms=1000, file_delete_delay_ms=0
)
CONFIGS = {"c": COMPACT, "both": BOTH, "short": LogConfig(retention_ms=1000, segment_bytes=200)}


@pytest.fixture
def manager(tmp_path: Path) -> LogManager:
    return start(format_directories(tmp_path), configs=CONFIGS)


def make(manager: LogManager, topic: str, partition: int = 0) -> PartitionLog:
    return manager.create(topic, partition, topic_id=TOPIC_ID, now_ms=NOW)


def dirty_log(
    manager: LogManager, topic: str = "c", partition: int = 0, segments: int = 3
) -> PartitionLog:
    """Two keys written again and again, a segment each time."""
    log = make(manager, topic, partition)
    for n in range(segments):
        put(log, (b"a", b"%d" % n), (b"b", b"%d" % n))
        log.roll(NOW)
    return log


def remove_due_files(maintenance: LogMaintenance, now_ms: int) -> None:
    while removals := maintenance.take_due_files(now_ms):
        for removal in removals:
            removal.run()
            maintenance.finish_removal(removal)


# Passes


def test_a_retention_pass_visits_every_log_in_pieces(manager: LogManager) -> None:
    logs = [make(manager, "short", n) for n in range(5)]
    for log in logs:
        for _ in range(3):
            append(log, batch(1, value=b"x" * 60))
        assert len(log.segments) > 1
    maintenance = LogMaintenance(manager)
    told: list[set[PartitionLog]] = []
    manager.on_deleted.append(lambda deleted: told.append({log for log, _ in deleted}))
    later = NOW + 5000
    pieces = [maintenance.retain(later, end_offset, budget=2) for _ in range(3)]
    assert pieces == [True, True, False]
    assert told == [set(logs)]
    assert all(log.log_start_offset == 3 for log in logs)
    kill(manager)


def test_a_retention_pass_that_a_full_disk_hinders_visits_every_log_and_then_says_so(
    manager: LogManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = [make(manager, "short", n) for n in range(3)]
    for log in logs:
        for _ in range(3):
            append(log, batch(1, value=b"x" * 60))
    maintenance = LogMaintenance(manager)
    real = os.rename

    def refuse(old: str, new: str) -> None:
        if old.startswith(logs[1].directory):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), old)
        real(old, new)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", refuse)
        assert maintenance.retain(NOW + 5000, end_offset, budget=2)
        with pytest.raises(LogDirFailure, match="No space left on device"):
            maintenance.retain(NOW + 5000, end_offset, budget=2)
    assert [len(log.segments) for log in logs] == [1, 4, 1]
    assert not maintenance.retain(NOW + 5000, end_offset)
    assert [len(log.segments) for log in logs] == [1, 1, 1]
    assert len(manager.online) == 1
    kill(manager)


def test_retention_never_passes_the_high_watermark(manager: LogManager) -> None:
    log = make(manager, "short")
    for _ in range(3):
        append(log, batch(1, value=b"x" * 60))
    LogMaintenance(manager).retain(NOW + 5000, lambda _: 1)
    assert log.log_start_offset <= 1
    kill(manager)


def test_a_partition_deleted_during_a_pass_is_passed_over(manager: LogManager) -> None:
    for n in range(3):
        make(manager, "short", n)
    maintenance = LogMaintenance(manager)
    assert maintenance.retain(NOW, end_offset, budget=1)
    manager.delete(list(manager.logs), NOW)
    while maintenance.retain(NOW, end_offset, budget=1):
        pass
    assert manager.logs == {}


def test_files_of_deleted_segments_go_after_their_delay(manager: LogManager) -> None:
    log = make(manager, "short")
    for _ in range(3):
        append(log, batch(1, value=b"x" * 60))
    maintenance = LogMaintenance(manager)
    maintenance.retain(NOW + 5000, end_offset)

    def doomed() -> list[str]:
        return [name for name in os.listdir(log.directory) if name.endswith(".deleted")]

    assert doomed()
    remove_due_files(maintenance, NOW + 5000 + 59_999)
    assert doomed()
    remove_due_files(maintenance, NOW + 5000 + 60_000)
    assert not doomed()
    kill(manager)


def test_logs_that_rolled_a_segment_are_due_for_a_flush(manager: LogManager) -> None:
    quiet, rolled = make(manager, "quiet"), make(manager, "c")
    append(quiet, batch(1))
    append(rolled, batch(1))
    rolled.roll(NOW)
    maintenance = LogMaintenance(manager)
    assert maintenance.logs_to_flush(NOW) == [rolled]
    rolled.flush(NOW)
    assert maintenance.logs_to_flush(NOW) == []
    kill(manager)


def test_logs_that_are_always_due_for_a_flush_take_turns(manager: LogManager) -> None:
    logs = [make(manager, "c", n) for n in range(5)]
    for log in logs:
        append(log, batch(1))
        log.roll(NOW)
    quiet = make(manager, "quiet")
    maintenance = LogMaintenance(manager)
    looks = [maintenance.logs_to_flush(NOW, limit=2) for _ in range(5)]
    assert all(len(look) == 2 for look in looks)
    assert [log for look in looks for log in look] == logs + logs
    manager.delete([("c", n) for n in range(4)], NOW)
    assert maintenance.logs_to_flush(NOW, limit=2) == [logs[4]]
    assert not quiet.needs_flush(NOW)
    kill(manager)


def test_idle_producers_are_forgotten(manager: LogManager) -> None:
    log = make(manager, "quiet")
    append(log, batch(1, producer_id=3, producer_epoch=0, base_sequence=0))
    maintenance = LogMaintenance(manager)
    maintenance.expire_producers(NOW + 1000)
    assert len(log.producers) == 1
    maintenance.expire_producers(NOW + 86_400_000)
    assert len(log.producers) == 0
    kill(manager)


def test_high_watermarks_are_those_that_replication_gives(
    manager: LogManager, tmp_path: Path
) -> None:
    append(make(manager, "quiet"), batch(5))
    LogMaintenance(manager).high_watermarks(lambda _: 3).run()
    assert (tmp_path / "replication-offset-checkpoint").read_text() == "0\n1\nquiet 0 3\n"
    kill(manager)


# Compaction


def test_compaction_from_the_decision_to_the_checkpoint(
    manager: LogManager, tmp_path: Path
) -> None:
    log = dirty_log(manager)
    maintenance = LogMaintenance(manager)
    job = maintenance.next_clean_job(NOW, end_offset)
    assert job is not None
    assert maintenance.next_clean_job(NOW, end_offset) is None  # it is under way
    assert finished(maintenance.swap_in(job, run(job), NOW))
    assert contents(log) == [(4, b"a", b"2"), (5, b"b", b"2")]
    assert maintenance.next_clean_job(NOW, end_offset) is None  # it is clean
    maintenance.checkpoints().run()
    assert (tmp_path / "cleaner-offset-checkpoint").read_text() == "0\n1\nc 0 6\n"
    stop(manager)

    again = start([str(tmp_path)], configs=CONFIGS)
    assert LogMaintenance(again).next_clean_job(NOW, end_offset) is None
    assert contents(again.logs["c", 0]) == [(4, b"a", b"2"), (5, b"b", b"2")]
    kill(again)


def test_the_dirtiest_log_comes_first(manager: LogManager) -> None:
    maintenance = LogMaintenance(manager)
    dirty_log(manager, partition=0, segments=2)
    job = maintenance.next_clean_job(NOW, end_offset)
    assert job is not None
    finished(maintenance.swap_in(job, run(job), NOW))
    log = manager.logs["c", 0]
    for _ in range(4):
        put(log, (b"a", b"x" * 50))
    log.roll(NOW)
    dirty_log(manager, partition=1)
    dirty_log(manager, topic="quiet")
    jobs = [maintenance.next_clean_job(NOW, end_offset) for _ in range(3)]
    assert [(job.topic, job.partition) for job in jobs if job is not None] == [("c", 1), ("c", 0)]
    assert maintenance.next_clean_job(NOW, end_offset) is None
    kill(manager)


def test_a_log_that_is_being_cleaned_is_not_deleted_from(manager: LogManager) -> None:
    log = dirty_log(manager, topic="both")
    maintenance = LogMaintenance(manager)
    job = maintenance.next_clean_job(NOW, end_offset)
    assert job is not None
    result = run(job)
    maintenance.retain(NOW + 5000, end_offset)
    assert log.log_start_offset == 0
    assert finished(maintenance.swap_in(job, result, NOW))
    maintenance.retain(NOW + 5000, end_offset)
    assert log.log_start_offset == 6
    assert contents(log) == []
    kill(manager)


def test_the_log_grows_while_it_is_being_cleaned(manager: LogManager) -> None:
    log = dirty_log(manager)
    maintenance = LogMaintenance(manager)
    job = maintenance.next_clean_job(NOW, end_offset)
    assert job is not None
    put(log, (b"a", b"new"))
    log.roll(NOW)
    put(log, (b"a", b"newer"))
    assert finished(maintenance.swap_in(job, run(job), NOW))
    assert [value for _, _, value in contents(log)] == [b"2", b"2", b"new", b"newer"]
    kill(manager)


def test_a_cut_below_the_active_segment_throws_the_round_away(manager: LogManager) -> None:
    log = dirty_log(manager)
    put(log, (b"a", b"active"))
    maintenance = LogMaintenance(manager)
    job = maintenance.next_clean_job(NOW, end_offset)
    assert job is not None
    result = run(job)
    manager.truncate({("c", 0): 3}, NOW)
    put(log, (b"z", b"other"))
    before = contents(log)
    assert not finished(maintenance.swap_in(job, result, NOW))
    assert contents(log) == before
    assert not [name for name in os.listdir(log.directory) if name.endswith(".cleaned")]
    kill(manager)


def test_what_follows_a_cut_counts_as_dirty(manager: LogManager) -> None:
    dirty_log(manager)
    maintenance = LogMaintenance(manager)
    job = maintenance.next_clean_job(NOW, end_offset)
    assert job is not None
    finished(maintenance.swap_in(job, run(job), NOW))
    manager.truncate({("c", 0): 4}, NOW)
    assert manager.cleaning.offsets["c", 0] <= 4
    kill(manager)


def test_a_round_for_a_deleted_topic_does_not_touch_the_new_one_of_that_name(
    manager: LogManager,
) -> None:
    dirty_log(manager)
    maintenance = LogMaintenance(manager)
    job = maintenance.next_clean_job(NOW, end_offset)
    assert job is not None
    result = run(job)
    manager.delete([("c", 0)], NOW)
    new = manager.create("c", 0, topic_id=random_uuid(), now_ms=NOW)
    put(new, (b"a", b"new topic"))
    assert not finished(maintenance.swap_in(job, result, NOW))
    assert contents(new) == [(0, b"a", b"new topic")]
    assert ("c", 0) not in manager.cleaning
    kill(manager)


def test_a_topic_that_is_no_longer_compacted_is_left_as_it_is(manager: LogManager) -> None:
    log = dirty_log(manager)
    maintenance = LogMaintenance(manager)
    job = maintenance.next_clean_job(NOW, end_offset)
    assert job is not None
    manager.set_config("c", LogConfig())
    assert not finished(maintenance.swap_in(job, run(job), NOW))
    assert len(contents(log)) == 6
    kill(manager)


def test_data_that_cannot_be_read_is_not_tried_again(manager: LogManager) -> None:
    dirty_log(manager)
    maintenance = LogMaintenance(manager)
    job = maintenance.next_clean_job(NOW, end_offset)
    assert job is not None
    maintenance.clean_job_failed(job, CleaningError("a bad batch"))
    assert manager.cleaning.uncleanable == {("c", 0): "a bad batch"}
    assert maintenance.next_clean_job(NOW, end_offset) is None
    assert len(manager.online) == 1
    kill(manager)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.ENOENT])
def test_a_round_that_found_no_room_or_no_log_is_tried_again(
    manager: LogManager, code: int
) -> None:
    dirty_log(manager)
    maintenance = LogMaintenance(manager)
    job = maintenance.next_clean_job(NOW, end_offset)
    assert job is not None
    maintenance.clean_job_failed(job, CleaningError("no space", code))
    assert maintenance.next_clean_job(NOW, end_offset) is not None
    assert len(manager.online) == 1
    kill(manager)


def test_a_round_that_met_a_bad_disk_takes_the_directory(manager: LogManager) -> None:
    dirty_log(manager)
    maintenance = LogMaintenance(manager)
    job = maintenance.next_clean_job(NOW, end_offset)
    assert job is not None
    maintenance.clean_job_failed(job, CleaningError("input/output error", errno.EIO))
    assert manager.online == []
    assert manager.logs == {}


Refuse = Callable[[PartitionLog, int], None]
#: With these the cleaner has to look at timestamps before it knows what there is to clean.
WITH_LAG = {"c": replace(COMPACT, min_compaction_lag_ms=1)}


@pytest.fixture(params=["the look", "the job"])
def refuse(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Refuse:
    """Let the disk refuse one log's segments to the cleaner, at either of its two chances."""
    timestamp, stat = Segment.largest_timestamp, os.stat

    def begin(log: PartitionLog, code: int) -> None:
        def check(path: object) -> None:
            if str(path).startswith(log.directory):
                raise OSError(code, os.strerror(code), str(path))

        def refuse_timestamp(segment: Segment) -> int:
            check(segment.file.path)
            return timestamp(segment)

        def refuse_stat(path: str, **options: bool) -> os.stat_result:
            check(path)
            return stat(path, **options)

        if request.param == "the look":
            monkeypatch.setattr(Segment, "largest_timestamp", refuse_timestamp)
        else:
            monkeypatch.setattr(os, "stat", refuse_stat)

    return begin


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENOENT])
def test_a_log_that_cannot_be_looked_at_is_passed_over_and_the_pass_says_so_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuse: Refuse, code: int
) -> None:
    manager = start(format_directories(tmp_path), configs=WITH_LAG)
    odd = dirty_log(manager, partition=0, segments=4)  # the dirtiest
    dirty_log(manager, partition=1)
    maintenance = LogMaintenance(manager)
    refuse(odd, code)
    job = maintenance.next_clean_job(NOW + 5000, end_offset)
    assert job is not None
    assert job.partition == 1
    with pytest.raises(LogDirFailure, match="looking for what to compact"):
        maintenance.next_clean_job(NOW + 5000, end_offset)
    monkeypatch.undo()
    assert odd.failure is None
    job = maintenance.next_clean_job(NOW + 5000, end_offset)
    assert job is not None
    assert job.partition == 0
    assert maintenance.next_clean_job(NOW + 5000, end_offset) is None
    kill(manager)


def test_a_bad_disk_takes_its_directory_offline_and_logs_on_others_are_compacted(
    tmp_path: Path, refuse: Refuse
) -> None:
    manager = start(format_directories(tmp_path / "a", tmp_path / "b"), configs=WITH_LAG)
    logs = [dirty_log(manager, partition=n, segments=5 - n) for n in range(4)]
    refuse(logs[0], errno.EIO)
    job = LogMaintenance(manager).next_clean_job(NOW + 5000, end_offset)
    assert job is not None
    assert job.directory == logs[1].directory
    bad = os.path.dirname(logs[0].directory)
    assert [directory.path for directory in manager.online] == [os.path.dirname(job.directory)]
    assert set(manager.unavailable) == {
        (log.topic, log.partition) for log in logs if os.path.dirname(log.directory) == bad
    }
    kill(manager)


def test_a_first_timestamp_that_could_not_be_read_is_read_the_next_time(
    manager: LogManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = dirty_log(manager)
    segment = log.segments[0]
    expected = segment.first_timestamp()
    segment.forget_first_timestamp()

    def refuse(*_: int) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "pread", refuse)
        with pytest.raises(OSError, match="Input/output"):
            segment.first_timestamp()
    assert segment.first_timestamp() == expected > 0
    kill(manager)


def test_the_settings_of_the_cleaner_reach_the_job(tmp_path: Path) -> None:
    config = LogManagerConfig(
        cleaner_dedupe_buffer_size=1000,
        cleaner_dedupe_buffer_load_factor=0.5,
        cleaner_io_max_bytes_per_second=123.0,
    )
    manager = start(format_directories(tmp_path), configs=CONFIGS, config=config)
    dirty_log(manager)
    job = LogMaintenance(manager).next_clean_job(NOW, end_offset)
    assert job is not None
    assert (job.map_bytes, job.bytes_per_second_max) == (500, 123.0)
    kill(manager)


@pytest.mark.parametrize(
    ("load_factor", "map_bytes"),
    [(0.5, 500), (1.0, 1000), (math.inf, 1000), (7.0, 1000), (0.0, 10), (-math.inf, 10)],
)
def test_the_map_of_keys_is_no_larger_than_the_buffer_and_never_useless(
    load_factor: float, map_bytes: int
) -> None:
    config = LogManagerConfig(
        cleaner_dedupe_buffer_size=1000, cleaner_dedupe_buffer_load_factor=load_factor
    )
    assert config.cleaner_map_bytes == map_bytes


# Swaps that wait for the disk while the log goes on


def staged(manager: LogManager) -> tuple[LogMaintenance, Generator[DirectorySync, None, bool]]:
    """A swap whose new segment is complete, and whose directory is being synced."""
    maintenance = LogMaintenance(manager)
    job = maintenance.next_clean_job(NOW, end_offset)
    assert job is not None
    steps = maintenance.swap_in(job, run(job), NOW)
    next(steps).run()
    return maintenance, steps


def swap_files(log: PartitionLog) -> list[str]:
    return [name for name in os.listdir(log.directory) if name.endswith((".swap", ".cleaned"))]


def test_the_log_serves_and_grows_while_a_swap_waits_for_the_disk(manager: LogManager) -> None:
    log = dirty_log(manager)
    before = contents(log)
    maintenance, steps = staged(manager)
    assert contents(log) == before
    put(log, (b"a", b"meanwhile"))
    maintenance.retain(NOW + 5000, end_offset)
    assert finished(steps)
    assert [value for _, _, value in contents(log)] == [b"2", b"2", b"meanwhile"]
    assert swap_files(log) == []
    kill(manager)


def test_a_cut_while_a_swap_waits_leaves_nothing_for_a_start_to_finish(
    manager: LogManager, tmp_path: Path
) -> None:
    log = dirty_log(manager)
    put(log, (b"a", b"active"))
    _, steps = staged(manager)
    assert swap_files(log) != []
    manager.truncate({("c", 0): 3}, NOW)
    assert swap_files(log) == []  # at once: a crash now would bring back what was cut
    before = contents(log)
    assert not finished(steps)
    assert contents(log) == before
    assert ("c", 0) not in manager.cleaning
    kill(manager)
    again = start([str(tmp_path)], configs=CONFIGS)
    assert contents(again.logs["c", 0]) == before
    kill(again)


def test_a_crash_while_a_swap_waits_is_finished_by_the_next_start(
    manager: LogManager, tmp_path: Path
) -> None:
    dirty_log(manager)
    staged(manager)
    kill(manager)
    again = start([str(tmp_path)], configs=CONFIGS)
    assert contents(again.logs["c", 0]) == [(4, b"a", b"2"), (5, b"b", b"2")]
    kill(again)


def test_a_topic_deleted_while_a_swap_waits_is_left_alone(manager: LogManager) -> None:
    dirty_log(manager)
    _, steps = staged(manager)
    manager.delete([("c", 0)], NOW)
    new = manager.create("c", 0, topic_id=random_uuid(), now_ms=NOW)
    put(new, (b"a", b"new topic"))
    assert not finished(steps)
    assert contents(new) == [(0, b"a", b"new topic")]
    kill(manager)


def test_a_disk_that_fails_while_a_swap_waits_goes_offline(manager: LogManager) -> None:
    dirty_log(manager)
    _, steps = staged(manager)
    sync = next(steps)
    sync.error = OSError(errno.EIO, "Input/output error")
    assert not finished(steps)
    assert manager.online == []


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE])
def test_a_swap_for_whose_last_sync_there_is_no_descriptor_is_made_durable_by_the_next_flush(
    manager: LogManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    log = dirty_log(manager)
    _, steps = staged(manager)
    sync = next(steps)
    log.flush(NOW)  # it knows nothing of the sync that is under way
    sync.error = OSError(code, os.strerror(code))
    assert finished(steps)
    assert manager.online
    assert contents(log) == [(4, b"a", b"2"), (5, b"b", b"2")]
    put(log, (b"a", b"new"))
    synced: list[str] = []
    monkeypatch.setattr(flushing, "sync_directory", synced.append)
    log.flush(NOW)
    log.flush(NOW)
    assert synced == [log.directory]
    kill(manager)
    again = start([str(tmp_path)], configs=CONFIGS)
    assert [value for _, _, value in contents(again.logs["c", 0])] == [b"2", b"2", b"new"]
    kill(again)


def test_a_swap_that_cannot_be_prepared_is_dropped_and_made_again(manager: LogManager) -> None:
    log = dirty_log(manager)
    before = contents(log)
    maintenance = LogMaintenance(manager)
    job = maintenance.next_clean_job(NOW, end_offset)
    assert job is not None
    steps = maintenance.swap_in(job, run(job), NOW)
    sync = next(steps)
    sync.error = OSError(errno.EMFILE, "Too many open files")
    with pytest.raises(LogDirFailure):
        next(steps)
    assert swap_files(log) == []
    assert contents(log) == before
    assert log.failure is None
    job = maintenance.next_clean_job(NOW, end_offset)
    assert job is not None
    assert finished(maintenance.swap_in(job, run(job), NOW))
    assert contents(log) == [(4, b"a", b"2"), (5, b"b", b"2")]
    kill(manager)


def full_for_renames(suffix: str, after: int) -> Callable[[str, str], None]:
    """A rename that finds no room for such names, once it has worked so often."""
    real, left = os.rename, after

    def rename(old: str, new: str) -> None:
        nonlocal left
        if new.endswith(suffix):
            if left == 0:
                raise OSError(errno.ENOSPC, "No space left on device", new)
            left -= 1
        real(old, new)

    return rename


@pytest.mark.parametrize("renamed", [0, 1, 2])
def test_a_swap_that_a_full_disk_does_not_let_begin_is_dropped_and_made_again(
    manager: LogManager, monkeypatch: pytest.MonkeyPatch, renamed: int
) -> None:
    log = dirty_log(manager)
    before = contents(log)
    maintenance, steps = staged(manager)
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", full_for_renames(".deleted", renamed))
        with pytest.raises(LogDirFailure):
            next(steps)
    assert swap_files(log) == []
    assert contents(log) == before
    assert log.failure is None
    assert len(manager.online) == 1
    job = maintenance.next_clean_job(NOW, end_offset)
    assert job is not None
    assert finished(maintenance.swap_in(job, run(job), NOW))
    assert contents(log) == [(4, b"a", b"2"), (5, b"b", b"2")]
    kill(manager)


def test_a_swap_that_a_full_disk_ends_half_way_is_finished_by_the_next_start(
    manager: LogManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dirty_log(manager)
    _, steps = staged(manager)
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", full_for_renames(".deleted", 4))
        assert not finished(steps)
    assert manager.online == []
    again = start([str(tmp_path)], configs=CONFIGS)
    assert contents(again.logs["c", 0]) == [(4, b"a", b"2"), (5, b"b", b"2")]
    kill(again)


def test_a_segment_that_a_full_disk_leaves_half_renamed_is_not_trusted(
    manager: LogManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dirty_log(manager)
    _, steps = staged(manager)
    real, left = os.rename, 1

    def rename(old: str, new: str) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, "No space left on device", new)
        real(old, new)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", rename)
        assert not finished(steps)
    assert manager.online == []
    again = start([str(tmp_path)], configs=CONFIGS)
    assert contents(again.logs["c", 0]) == [(4, b"a", b"2"), (5, b"b", b"2")]
    kill(again)


def compacted(manager: LogManager) -> tuple[PartitionLog, LogMaintenance]:
    """A log whose old segments are due to be removed, after a round of compaction."""
    log = dirty_log(manager)
    maintenance = LogMaintenance(manager)
    job = maintenance.next_clean_job(NOW, end_offset)
    assert job is not None
    assert finished(maintenance.swap_in(job, run(job), NOW))
    return log, maintenance


def test_files_that_a_full_disk_cannot_remove_are_tried_at_the_next_look(
    manager: LogManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, maintenance = compacted(manager)
    (removal,) = maintenance.take_due_files(NOW)

    def refuse(path: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", refuse)
        removal.run()
    maintenance.finish_removal(removal)
    assert len(manager.online) == 1
    assert log.failure is None
    assert maintenance.take_due_files(NOW) == []  # or this look would never end
    (again,) = maintenance.take_due_files(NOW + 1)
    assert again.paths == removal.paths
    again.run()
    assert again.error is None
    kill(manager)


def test_files_that_cannot_be_removed_take_their_directory_offline(
    manager: LogManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, maintenance = compacted(manager)
    assert maintenance.take_due_files(NOW - 1) == []
    (removal,) = maintenance.take_due_files(NOW)
    assert maintenance.take_due_files(NOW) == []  # nobody gets them twice
    assert log.pending_deletes == []

    def refuse(path: str) -> None:
        raise OSError(errno.EIO, "Input/output error", path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", refuse)
        removal.run()
    maintenance.finish_removal(removal)
    assert manager.online == []
