"""Partitions on a node's disks: found at a start, made, moved out of the way, deleted."""

import errno
import os
from pathlib import Path

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.uuids import DIRECTORY_LOST, random_uuid
from headrace.log.config import LogConfig
from headrace.log.errors import LogDirFailure
from headrace.log.log_maintenance import LogMaintenance, remove_directory
from headrace.log.log_manager import LogManager
from headrace.log.log_registry import LogManagerConfig
from headrace.log.partition_log import PartitionLog
from headrace.log.recovery_tasks import RecoveryOutcome, RecoveryTask, run_recoveries
from tests.unit.log.nodes import format_directories, kill, start, stop
from tests.unit.log.samples import NOW, TOPIC_ID, append, batch, everything, spans


def make(manager: LogManager, topic: str, partition: int = 0, records: int = 0) -> PartitionLog:
    log = manager.create(topic, partition, topic_id=TOPIC_ID, now_ms=NOW)
    for _ in range(records):
        append(log, batch(1))
    return log


def directories_in(path: str) -> list[str]:
    return sorted(entry.name for entry in os.scandir(path) if entry.is_dir())


# Starting and stopping


def test_a_clean_stop_leaves_kafkas_files_and_the_next_start_scans_nothing(tmp_path: Path) -> None:
    (path,) = format_directories(tmp_path)
    manager = start([path])
    log = make(manager, "a", records=3)
    make(manager, "b", 4)
    data = everything(log)
    stop(manager, broker_epoch=12)
    assert Path(path, ".kafka_cleanshutdown").read_text() == '{"version":0,"brokerEpoch":12}'
    recovery = Path(path, "recovery-point-offset-checkpoint").read_text()
    assert recovery == "0\n2\na 0 3\nb 4 0\n"
    assert Path(path, "replication-offset-checkpoint").read_text() == recovery
    assert Path(path, "log-start-offset-checkpoint").read_text() == "0\n0\n"

    def recover(tasks: object) -> list[RecoveryOutcome]:
        raise AssertionError(f"nothing is to be recovered: {tasks}")

    again = start([path], recover=recover)
    assert sorted(again.logs) == [("a", 0), ("b", 4)]
    loaded = again.get("a", 0)
    assert loaded is not None
    assert everything(loaded) == data
    assert (loaded.topic_id, loaded.recovery_point) == (TOPIC_ID, 3)
    assert not Path(path, ".kafka_cleanshutdown").exists()
    kill(again)


def test_after_a_hard_kill_each_partition_is_recovered_from_its_recovery_point(
    tmp_path: Path,
) -> None:
    (path,) = format_directories(tmp_path)
    manager = start([path])
    log = make(manager, "a", records=3)
    log.flush()
    written = LogMaintenance(manager).checkpoints()
    written.run()
    append(log, batch(2))
    torn = Path(log.active.file.path)
    kill(manager)
    torn.write_bytes(torn.read_bytes()[:-5])

    seen: list[RecoveryTask] = []

    def recover(tasks: object) -> list[RecoveryOutcome]:
        seen.extend(tasks)  # type: ignore[arg-type]
        return run_recoveries(seen)

    again = start([path], recover=recover)
    assert [(os.path.basename(task.directory), task.recovery_point) for task in seen] == [
        ("a-0", 3)
    ]
    loaded = again.logs["a", 0]
    assert loaded.log_end_offset == 3
    # What recovery read is not known to be on the disk beyond the old recovery point.
    assert loaded.recovery_point == 3
    assert spans(everything(loaded)) == [(0, 0), (1, 1), (2, 2)]
    kill(again)


def test_a_crash_while_loading_is_not_taken_for_a_clean_stop(tmp_path: Path) -> None:
    (path,) = format_directories(tmp_path)
    manager = start([path])
    make(manager, "a", records=1)
    stop(manager)
    kill(start([path]))
    seen: list[object] = []

    def recover(tasks: object) -> list[RecoveryOutcome]:
        seen.extend(tasks)  # type: ignore[arg-type]
        return run_recoveries(seen)  # type: ignore[arg-type]

    kill(start([path], recover=recover))
    assert len(seen) == 1


def test_log_starts_inside_a_segment_survive(tmp_path: Path) -> None:
    (path,) = format_directories(tmp_path)
    manager = start([path])
    log = make(manager, "a", records=5)
    make(manager, "b", records=5)
    log.delete_records_before(3)
    stop(manager)
    assert Path(path, "log-start-offset-checkpoint").read_text() == "0\n1\na 0 3\n"
    again = start([path])
    assert again.logs["a", 0].log_start_offset == 3
    assert again.logs["b", 0].log_start_offset == 0
    kill(again)


def test_a_damaged_checkpoint_costs_a_scan_and_no_data(tmp_path: Path) -> None:
    (path,) = format_directories(tmp_path)
    manager = start([path])
    make(manager, "a", records=4)
    kill(manager)
    Path(path, "recovery-point-offset-checkpoint").write_text("0\n7\nrubbish")
    again = start([path])
    assert again.logs["a", 0].log_end_offset == 4
    kill(again)


def test_directories_that_are_no_partitions_are_left_alone(tmp_path: Path) -> None:
    (path,) = format_directories(tmp_path)
    for name in ("lost+found", "__cluster_metadata-0", "a-0.0f-stray", "a-1.0f-future"):
        Path(path, name).mkdir()
    manager = start([path])
    assert manager.logs == {}
    assert len(directories_in(path)) == 4
    stop(manager)
    assert len(directories_in(path)) == 4


def test_an_unreadable_topic_id_costs_this_partition_only(tmp_path: Path) -> None:
    (path,) = format_directories(tmp_path)
    manager = start([path])
    make(manager, "a", records=1)
    make(manager, "b", records=1)
    stop(manager)
    Path(path, "a-0", "partition.metadata").write_text("rubbish")
    again = start([path])
    assert sorted(again.logs) == [("b", 0)]
    with pytest.raises(KafkaError, match="malformed") as caught:
        make(again, "a")
    assert caught.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    stop(again)
    assert Path(path, "a-0", "00000000000000000000.log").stat().st_size > 0


def test_a_partition_in_two_directories_is_not_guessed_about(tmp_path: Path) -> None:
    paths = format_directories(tmp_path / "1", tmp_path / "2")
    manager = start(paths[:1])
    make(manager, "a", records=1)
    stop(manager)
    os.rename(Path(paths[0], "a-0"), Path(paths[1], "a-0"))
    manager = start(paths[:1])
    make(manager, "a", records=2)
    stop(manager)
    both = start(paths)
    assert both.logs == {}
    with pytest.raises(KafkaError, match="lies in both"):
        make(both, "a")
    kill(both)


# Making


def test_a_new_partition_goes_to_the_directory_with_the_fewest(tmp_path: Path) -> None:
    paths = format_directories(tmp_path / "1", tmp_path / "2")
    manager = start(paths)
    for n in range(6):
        make(manager, "a", n)
    assert [len(directories_in(path)) for path in paths] == [3, 3]
    stop(manager)
    more = format_directories(tmp_path / "3")
    manager = start(paths + more)
    for n in range(3):
        make(manager, "b", n)
    # The added disk gets all new ones until it is even with the others.
    assert len(directories_in(more[0])) == 3
    kill(manager)


def test_an_assigned_directory_is_honoured(tmp_path: Path) -> None:
    manager = start(format_directories(tmp_path / "1", tmp_path / "2"))
    wanted = manager.directories[1]
    assert wanted.directory_id is not None
    for n in range(3):
        log = manager.create(
            "a", n, topic_id=TOPIC_ID, now_ms=NOW, directory_id=wanted.directory_id
        )
        assert manager.directory_of(log) is wanted
    kill(manager)


@pytest.mark.parametrize(
    "directory_id", [DIRECTORY_LOST, bytes(range(100, 116))], ids=["lost", "other"]
)
def test_an_unknown_directory_is_replaced_while_all_are_online(
    tmp_path: Path, directory_id: bytes
) -> None:
    manager = start(format_directories(tmp_path))
    log = manager.create("a", 0, topic_id=TOPIC_ID, now_ms=NOW, directory_id=directory_id)
    assert log.log_end_offset == 0
    kill(manager)


def test_cordoned_directories_get_no_new_partitions(tmp_path: Path) -> None:
    manager = start(format_directories(tmp_path / "1", tmp_path / "2"))
    manager.cordoned = frozenset({manager.directories[0].path})
    logs = [make(manager, "a", n) for n in range(3)]
    assert {manager.directory_of(log).path for log in logs} == {manager.directories[1].path}
    kill(manager)


def test_a_partition_that_was_given_to_a_wholly_cordoned_node_still_gets_a_log(
    tmp_path: Path,
) -> None:
    manager = start(format_directories(tmp_path / "1", tmp_path / "2"))
    manager.cordoned = frozenset(directory.path for directory in manager.directories)
    logs = [make(manager, "a", n) for n in range(3)]
    assert {manager.directory_of(log).path for log in logs} == {manager.directories[0].path}
    kill(manager)


def test_creating_again_returns_the_log(tmp_path: Path) -> None:
    manager = start(format_directories(tmp_path))
    log = make(manager, "a", records=2)
    assert make(manager, "a") is log
    kill(manager)


def test_a_log_of_another_topic_with_this_name_is_put_aside(tmp_path: Path) -> None:
    (path,) = format_directories(tmp_path)
    manager = start([path])
    make(manager, "a", records=2)
    new = manager.create("a", 0, topic_id=random_uuid(), now_ms=NOW)
    assert new.log_end_offset == 0
    current, stray = directories_in(path)
    assert current == "a-0"
    assert stray.startswith("a-0.")
    assert stray.endswith("-stray")
    assert Path(path, stray, "00000000000000000000.log").stat().st_size > 0
    kill(manager)


def test_a_directory_without_a_topic_id_gets_it(tmp_path: Path) -> None:
    (path,) = format_directories(tmp_path)
    manager = start([path])
    make(manager, "a", records=2)
    stop(manager)
    Path(path, "a-0", "partition.metadata").unlink()
    manager = start([path])
    log = make(manager, "a")
    assert (log.topic_id, log.log_end_offset) == (TOPIC_ID, 2)
    stop(manager)
    manager = start([path])
    assert manager.logs["a", 0].topic_id == TOPIC_ID
    kill(manager)


def test_logs_that_metadata_does_not_know_become_strays(tmp_path: Path) -> None:
    (path,) = format_directories(tmp_path)
    manager = start([path])
    make(manager, "known", records=1)
    make(manager, "gone", records=1)
    (stray,) = manager.put_strays_aside(lambda log: log.topic == "known")
    assert os.path.basename(stray).startswith("gone-0.")
    assert sorted(manager.logs) == [("known", 0)]
    stop(manager)
    manager = start([path])
    assert sorted(manager.logs) == [("known", 0)]
    assert os.path.exists(stray)
    kill(manager)


def no_room(old: str, new: str) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), new)


def test_a_stray_that_a_full_disk_cannot_rename_is_kept_and_put_aside_when_its_name_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path,) = format_directories(tmp_path)
    manager = start([path])
    make(manager, "gone", records=1)
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", no_room)
        assert manager.put_strays_aside(lambda log: False) == []
        with pytest.raises(LogDirFailure) as caught:
            manager.create("gone", 0, topic_id=random_uuid(), now_ms=NOW)
    assert caught.value.passes
    assert len(manager.online) == 1
    assert manager.create("gone", 0, topic_id=random_uuid(), now_ms=NOW).log_end_offset == 0
    assert [name[-6:] for name in directories_in(path)] == ["gone-0", "-stray"]
    kill(manager)


# Deleting


def test_a_log_whose_deletion_a_full_disk_refuses_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path,) = format_directories(tmp_path)
    manager = start([path])
    log = make(manager, "a", records=2)
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", no_room)
        touched, refused = manager.retire([("a", 0)], NOW)
    assert (touched, list(refused)) == ([], [("a", 0)])
    assert manager.logs == {("a", 0): log}
    assert log.failure is None
    assert manager.deleting == []
    touched, refused = manager.retire([("a", 0)], NOW)
    assert (touched, refused) == (manager.directories, {})
    assert manager.logs == {}
    kill(manager)


def test_a_deleted_partition_is_renamed_at_once_and_removed_later(tmp_path: Path) -> None:
    (path,) = format_directories(tmp_path)
    manager = start([path], config=LogManagerConfig(file_delete_delay_ms=1000))
    maintenance = LogMaintenance(manager)
    make(manager, "a", records=2)
    make(manager, "b", records=1)
    manager.delete([("a", 0)], NOW).run()
    assert manager.get("a", 0) is None
    doomed = directories_in(path)[0]
    assert doomed.endswith("-delete")
    assert Path(path, "recovery-point-offset-checkpoint").read_text() == "0\n1\nb 0 0\n"
    assert make(manager, "a").log_end_offset == 0

    assert maintenance.take_due_deletions(NOW + 999) == []
    (due,) = maintenance.take_due_deletions(NOW + 1000)
    assert due == os.path.join(path, doomed)
    assert maintenance.take_due_deletions(NOW + 1000) == []
    remove_directory(due)
    remove_directory(due)
    assert directories_in(path) == ["a-0", "b-0"]
    kill(manager)


def test_a_deletion_that_the_disk_refused_is_due_again_a_minute_later(tmp_path: Path) -> None:
    manager = start(format_directories(tmp_path / "a", tmp_path / "b"))
    maintenance = LogMaintenance(manager)
    for partition in range(4):
        make(manager, "a", partition)
    manager.delete(list(manager.logs), NOW)
    later = NOW + 60_000
    due = maintenance.take_due_deletions(later)
    assert len(due) == 4
    bad, good = manager.directories
    manager.fail_directory(bad, "Input/output error")
    maintenance.put_off_deletions(due, later)
    assert maintenance.take_due_deletions(later + 59_999) == []
    # The next start looks after those on the bad disk, if there is one with it.
    left = [path for path in due if os.path.dirname(path) == good.path]
    assert maintenance.take_due_deletions(later + 60_000) == left
    assert len(left) == 2
    kill(manager)


def test_a_deletion_goes_on_after_a_restart(tmp_path: Path) -> None:
    (path,) = format_directories(tmp_path)
    manager = start([path])
    make(manager, "a", records=2)
    manager.delete([("a", 0), ("never", 1)], NOW)
    stop(manager)
    manager = start([path])
    assert manager.logs == {}
    (due,) = LogMaintenance(manager).take_due_deletions(NOW + 60_000)
    assert due.endswith("-delete")
    kill(manager)


# Changing


def test_new_settings_reach_all_partitions_of_a_topic(tmp_path: Path) -> None:
    manager = start(format_directories(tmp_path))
    logs = [make(manager, "a", n) for n in range(2)]
    other = make(manager, "b")
    manager.set_config("a", LogConfig(segment_bytes=12345))
    assert [log.config.segment_bytes for log in logs] == [12345, 12345]
    assert other.config.segment_bytes != 12345
    kill(manager)


def test_cutting_below_the_recovery_point_is_written_down_before_anything_follows(
    tmp_path: Path,
) -> None:
    (path,) = format_directories(tmp_path)
    manager = start([path])
    log = make(manager, "a", records=5)
    log.flush()
    LogMaintenance(manager).checkpoints().run()
    checkpoint = Path(path, "recovery-point-offset-checkpoint")
    assert checkpoint.read_text() == "0\n1\na 0 5\n"
    manager.truncate({("a", 0): 2}, NOW)
    assert log.log_end_offset == 2
    assert checkpoint.read_text() == "0\n1\na 0 2\n"
    kill(manager)
