"""A disk that fails takes its directory; the node lives on as long as another one works."""

import errno
import os
import shutil
from pathlib import Path

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.log.checkpoints import TopicPartition
from headrace.log.directories import DataDirectory, DataDirectoryError
from headrace.log.errors import LogDirFailure
from headrace.log.log_maintenance import LogMaintenance
from headrace.log.log_manager import LogManager
from tests.unit.log.nodes import end_offset, format_directories, kill, start, stop
from tests.unit.log.samples import NOW, TOPIC_ID, append, batch


def manager_with_two_disks(tmp_path: Path) -> tuple[LogManager, list[str]]:
    paths = format_directories(tmp_path / "1", tmp_path / "2")
    manager = start(paths)
    for n in range(4):
        append(manager.create("a", n, topic_id=TOPIC_ID, now_ms=NOW), batch(2))
    return manager, paths


def failure_in(manager: LogManager, key: TopicPartition, code: int = errno.EIO) -> LogDirFailure:
    return LogDirFailure(manager.logs[key].directory, "reading", OSError(code, "broken"))


def test_a_failed_directory_takes_its_partitions_and_no_others(tmp_path: Path) -> None:
    manager, _ = manager_with_two_disks(tmp_path)
    told: list[TopicPartition] = []
    manager.on_lost.append(told.extend)
    offline: list[tuple[DataDirectory, int]] = []
    manager.on_offline.append(lambda directory, lost: offline.append((directory, lost)))
    bad = manager.directory_of(manager.logs["a", 0])
    lost = manager.handle_failure(failure_in(manager, ("a", 0)))
    assert sorted(lost) == sorted(told)
    assert len(lost) == 2
    assert len(manager.logs) == 2
    assert not bad.online
    assert offline == [(bad, 2)]
    assert bad.failure is not None
    assert "broken" in bad.failure
    for topic, partition in lost:
        assert manager.get(topic, partition) is None
        with pytest.raises(KafkaError) as caught:
            manager.require_available(topic, partition)
        assert caught.value.code == ErrorCode.KAFKA_STORAGE_ERROR
        with pytest.raises(KafkaError) as caught:
            manager.create(topic, partition, topic_id=TOPIC_ID, now_ms=NOW)
        assert caught.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    for log in manager.logs.values():
        append(log, batch(1))
    kill(manager)


def test_new_partitions_go_to_the_disks_that_work(tmp_path: Path) -> None:
    manager, _ = manager_with_two_disks(tmp_path)
    bad, good = manager.directories
    assert bad.directory_id is not None
    manager.fail_directory(bad, "broken")
    assert manager.fail_directory(bad, "broken again") == []
    assert bad.failure == "broken"
    log = manager.create("b", 0, topic_id=TOPIC_ID, now_ms=NOW)
    assert manager.directory_of(log) is good
    with pytest.raises(KafkaError, match="may lie in a data directory that is offline"):
        manager.create("c", 0, topic_id=TOPIC_ID, now_ms=NOW, directory_id=bad.directory_id)
    kill(manager)


def test_a_full_disk_or_too_few_descriptors_are_no_broken_disk(tmp_path: Path) -> None:
    manager, _ = manager_with_two_disks(tmp_path)
    for code in (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE):
        assert manager.handle_failure(failure_in(manager, ("a", 0), code)) == []
    assert len(manager.online) == 2
    kill(manager)


def test_a_log_that_refuses_all_work_takes_its_directory_even_if_the_disk_is_only_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed fsync may have dropped what was acknowledged, whatever it says was the cause."""
    manager, _ = manager_with_two_disks(tmp_path)
    log = manager.logs["a", 0]

    def refuse(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", refuse)
        with pytest.raises(LogDirFailure):
            log.flush()
    assert log.failure is not None
    assert len(manager.handle_failure(log.failure)) == 2
    assert len(manager.online) == 1
    kill(manager)


def test_a_directory_that_vanishes_is_noticed_when_a_partition_is_made(tmp_path: Path) -> None:
    paths = format_directories(tmp_path / "1", tmp_path / "2")
    manager = start(paths)
    shutil.rmtree(paths[0])
    logs = [manager.create("a", n, topic_id=TOPIC_ID, now_ms=NOW) for n in range(3)]
    assert {manager.directory_of(log).path for log in logs} == {paths[1]}
    assert [directory.online for directory in manager.directories] == [False, True]
    kill(manager)


def test_the_last_directory_gone_leaves_none_online(tmp_path: Path) -> None:
    (path,) = format_directories(tmp_path / "1")
    manager = start([path])
    shutil.rmtree(path)
    with pytest.raises(KafkaError, match="No data directory can take a-0") as caught:
        manager.create("a", 0, topic_id=TOPIC_ID, now_ms=NOW)
    assert caught.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert manager.online == []


def test_a_checkpoint_that_cannot_be_written_takes_its_directory(tmp_path: Path) -> None:
    manager, paths = manager_with_two_disks(tmp_path)
    Path(paths[0], "recovery-point-offset-checkpoint.tmp").mkdir()
    written = LogMaintenance(manager).checkpoints()
    written.run()
    lost = manager.finish_checkpoints(written)
    assert len(lost) == 2
    assert [directory.online for directory in manager.directories] == [False, True]
    kill(manager)


def test_only_directories_that_closed_well_are_marked_clean(tmp_path: Path) -> None:
    manager, paths = manager_with_two_disks(tmp_path)
    log = next(
        log for log in manager.logs.values() if manager.directory_of(log) is manager.directories[0]
    )
    log.fail("reading", OSError(errno.EIO, "broken"))
    LogMaintenance(manager).close(1, end_offset)
    marks = [Path(path, ".kafka_cleanshutdown").exists() for path in paths]
    assert marks == [False, True]
    again = start(paths)
    assert sorted(again.logs) == [("a", n) for n in range(4)]
    assert all(log.log_end_offset == 2 for log in again.logs.values())
    stop(again)
    assert all(Path(path, ".kafka_cleanshutdown").exists() for path in paths)


def test_a_partition_that_cannot_be_recovered_keeps_its_directory_unclean(tmp_path: Path) -> None:
    (path,) = format_directories(tmp_path)
    manager = start([path])
    append(manager.create("a", 0, topic_id=TOPIC_ID, now_ms=NOW), batch(2))
    kill(manager)
    metadata = Path(path, "a-0", "partition.metadata")
    text = metadata.read_text()
    metadata.write_text("rubbish")
    stop(start([path]))
    assert not Path(path, ".kafka_cleanshutdown").exists()
    metadata.write_text(text)
    manager = start([path])
    assert manager.logs["a", 0].log_end_offset == 2
    kill(manager)


def test_a_partition_that_cannot_be_loaded_keeps_its_offsets_for_when_it_is_mended(
    tmp_path: Path,
) -> None:
    (path,) = format_directories(tmp_path)
    manager = start([path])
    log = manager.create("a", 0, topic_id=TOPIC_ID, now_ms=NOW)
    append(log, batch(3))
    append(manager.create("b", 0, topic_id=TOPIC_ID, now_ms=NOW), batch(1))
    log.delete_records_before(2)
    manager.cleaning.offsets["a", 0] = 3
    stop(manager)
    metadata = Path(path, "a-0", "partition.metadata")
    text = metadata.read_text()
    metadata.write_text("rubbish")
    manager = start([path])
    assert list(manager.logs) == [("b", 0)]
    LogMaintenance(manager).checkpoints().run()
    stop(manager)
    offsets = {name: one.read() for name, one in manager.directories[0].checkpoints.items()}
    assert {name: found["a", 0] for name, found in offsets.items()} == {
        "recovery-point-offset-checkpoint": 3,
        "log-start-offset-checkpoint": 2,
        "replication-offset-checkpoint": 3,
        "cleaner-offset-checkpoint": 3,
    }
    metadata.write_text(text)
    manager = start([path])
    assert manager.logs["a", 0].log_start_offset == 2
    kill(manager)


def test_a_directory_that_cannot_be_loaded_is_offline(tmp_path: Path) -> None:
    manager, paths = manager_with_two_disks(tmp_path)
    kept = {key for key, log in manager.logs.items() if log.directory.startswith(paths[1])}
    stop(manager)
    name = next(Path(paths[0]).glob("a-*"))
    shutil.rmtree(name)
    name.mkdir()
    (name / "00000000000000000000.log").symlink_to(name / "00000000000000000000.log")
    again = start(paths)
    assert set(again.logs) == kept
    assert [directory.online for directory in again.directories] == [False, True]
    kill(again)
    with pytest.raises(DataDirectoryError, match="None of the data directories can be used"):
        start(paths[:1])
