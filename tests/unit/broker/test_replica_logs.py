"""Logs that come and go in slices: thousands of partitions, full disks, names used again."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.uuids import random_uuid
from headrace.log.loading import create_log
from headrace.metadata import records as r
from headrace.replication.partition import Partition
from headrace.server.replica_metrics import partition_families, replica_families
from tests.unit.broker.batches import batch, produce
from tests.unit.broker.fakes import NODE_ID
from tests.unit.broker.harness import Broker

MANY = 200


def create(broker: Broker, topic: str, partitions: int) -> bytes:
    """A topic by its records, so that no turn has passed yet; returns its id."""
    topic_id = random_uuid()
    broker.plane.apply(
        [
            r.TopicRecord(name=topic, topic_id=topic_id),
            *(
                r.PartitionRecord(
                    partition_id=index,
                    topic_id=topic_id,
                    replicas=[NODE_ID],
                    isr=[NODE_ID],
                    leader=NODE_ID,
                    leader_epoch=0,
                    partition_epoch=0,
                )
                for index in range(partitions)
            ),
        ]
    )
    return topic_id


def logs_of(broker: Broker, topic: str) -> list[int]:
    return sorted(index for name, index in broker.logs.logs if name == topic)


def on_disk(broker: Broker, pattern: str) -> list[str]:
    return sorted(path.name for path in Path(broker.directories[0].path).glob(pattern))


def test_all_partitions_are_known_at_once_and_their_logs_follow_in_turns(broker: Broker) -> None:
    create(broker, "many", MANY)
    assert len(broker.partitions.named("many")) == MANY
    made = len(logs_of(broker, "many"))
    assert 0 < made < MANY
    broker.scheduler.turn()
    assert made < len(logs_of(broker, "many")) < MANY
    broker.scheduler.settle()
    assert logs_of(broker, "many") == list(range(MANY))
    assert len(on_disk(broker, "many-*")) == MANY


def test_a_partition_that_is_used_before_its_turn_has_its_log_made_first(broker: Broker) -> None:
    create(broker, "many", MANY)
    partition = broker.partitions.require("many", MANY - 1)
    assert (MANY - 1) not in logs_of(broker, "many")
    assert produce(broker, batch(3), "many", MANY - 1).error_code == ErrorCode.NONE
    assert partition.high_watermark == 3
    broker.scheduler.settle()
    assert partition.log.log_end_offset == 3


def test_a_topic_that_goes_before_all_its_logs_are_made_leaves_nothing(broker: Broker) -> None:
    topic_id = create(broker, "many", MANY)
    last = broker.partitions.require("many", MANY - 1)
    broker.plane.apply([r.RemoveTopicRecord(topic_id=topic_id)])
    with pytest.raises(KafkaError) as caught:
        last.make_log()
    assert caught.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    broker.scheduler.settle()
    assert logs_of(broker, "many") == []
    assert on_disk(broker, "many-*") == on_disk(broker, "many-*-delete") != []


def test_a_topic_of_the_same_name_does_not_wait_for_the_old_logs(broker: Broker) -> None:
    topic_id = create(broker, "many", MANY)
    broker.scheduler.settle()
    assert produce(broker, batch(3), "many", MANY - 1).error_code == ErrorCode.NONE
    broker.plane.apply([r.RemoveTopicRecord(topic_id=topic_id)])
    assert (MANY - 1) in logs_of(broker, "many")  # its turn has not come yet
    create(broker, "many", MANY)
    partition = broker.partitions.require("many", MANY - 1)
    assert partition.log.log_end_offset == 0
    assert produce(broker, batch(1), "many", MANY - 1).base_offset == 0
    broker.scheduler.settle()
    assert logs_of(broker, "many") == list(range(MANY))
    assert len(on_disk(broker, "many-*-delete")) == MANY
    assert on_disk(broker, "*-stray") == []


def test_what_is_left_to_rename_is_renamed_when_the_node_stops(broker: Broker) -> None:
    topic_id = create(broker, "many", MANY)
    broker.scheduler.settle()
    broker.plane.apply([r.RemoveTopicRecord(topic_id=topic_id)])
    assert logs_of(broker, "many") != []
    broker.replica_logs.close()
    assert logs_of(broker, "many") == []


def test_no_log_is_made_any_more_when_the_node_stops(broker: Broker) -> None:
    create(broker, "many", MANY)
    made = logs_of(broker, "many")
    broker.replica_logs.close()
    broker.scheduler.settle()
    assert logs_of(broker, "many") == made
    with pytest.raises(KafkaError):
        broker.partitions.require("many", MANY - 1).make_log()


def test_metrics_count_partitions_that_have_no_log_yet_and_leave_them_so(broker: Broker) -> None:
    create(broker, "many", MANY)
    made = logs_of(broker, "many")
    families = [*replica_families(broker.partitions), *partition_families(broker.partitions)]
    samples = {family.name: list(family.samples) for family in families}
    assert samples["kafka_server_replicamanager_partitioncount"][0][2] == MANY
    assert len(samples["kafka_log_log_size"]) == len(made)
    assert logs_of(broker, "many") == made


class FullDisk:
    """Refuses to make logs as long as it is full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, code: int = errno.ENOSPC) -> None:
        self.is_full = True
        self._code = code
        name = "headrace.log.log_manager.create_log"
        monkeypatch.setattr(name, self._create_log(create_log))

    def _create_log(self, create: Callable[..., object]) -> Callable[..., object]:
        def refuse_or_create(directory: str, *arguments: object, **named: object) -> object:
            if self.is_full:
                raise OSError(self._code, os.strerror(self._code), directory)
            return create(directory, *arguments, **named)

        return refuse_or_create


def test_a_partition_made_on_a_full_disk_comes_online_when_there_is_room(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(monkeypatch)
    broker.create_topic("t", 2)
    recovered: list[Partition] = []
    broker.replica_logs.on_recovered.append(recovered.append)
    assert produce(broker, batch(), "t").error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert not broker.replica_logs.try_refused()
    assert broker.partitions.offline == {("t", 0), ("t", 1)}
    disk.is_full = False
    broker.replica_logs.try_refused()
    assert broker.partitions.offline == frozenset()
    assert [(one.topic, one.index) for one in recovered] == [("t", 0), ("t", 1)]
    assert produce(broker, batch(), "t").error_code == ErrorCode.NONE


def test_leadership_that_changed_meanwhile_holds_when_the_partition_comes_online(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(monkeypatch)
    topic_id = broker.create_topic("t")
    broker.plane.apply([r.PartitionChangeRecord(topic_id=topic_id, partition_id=0, leader=1)])
    disk.is_full = False
    broker.replica_logs.try_refused()
    assert broker.partition("t").leadership.leader_epoch == 1


def test_a_topic_that_was_deleted_while_the_disk_was_full_does_not_come_back(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(monkeypatch)
    topic_id = broker.create_topic("t")
    broker.plane.apply([r.RemoveTopicRecord(topic_id=topic_id)])
    disk.is_full = False
    assert not broker.replica_logs.try_refused()
    assert broker.partitions.get("t", 0) is None
    assert on_disk(broker, "t-*") == []


def test_a_broken_disk_is_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(tmp_path)
    disk = FullDisk(monkeypatch, errno.EIO)
    broker.create_topic("t")
    disk.is_full = False
    assert not broker.replica_logs.try_refused()
    assert broker.partitions.offline == {("t", 0)}
    broker.close()


class NoRoomForNames:
    """A disk that cannot rename a partition's directory as long as it is full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_full = True
        self._rename = os.rename
        monkeypatch.setattr(os, "rename", self._refuse_or_rename)

    def _refuse_or_rename(self, old: str, new: str) -> None:
        if self.is_full and new.endswith(("-delete", "-stray")):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), new)
        self._rename(old, new)


def test_a_topic_deleted_on_a_full_disk_goes_when_there_is_room(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    topic_id = broker.create_topic("t", 2)
    disk = NoRoomForNames(monkeypatch)
    broker.plane.apply([r.RemoveTopicRecord(topic_id=topic_id)])
    assert not broker.replica_logs.try_kept()
    assert on_disk(broker, "t-*") == ["t-0", "t-1"]
    assert caplog.text.count("2 deleted logs stay for now, the first is that of t-0") == 1
    disk.is_full = False
    assert not broker.replica_logs.try_kept()
    assert logs_of(broker, "t") == []
    assert len(on_disk(broker, "t-*-delete")) == len(broker.logs.deleting) == 2


def test_as_many_logs_as_a_full_disk_kept_go_in_turns_when_there_is_room(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic_id = create(broker, "many", MANY)
    broker.scheduler.settle()
    disk = NoRoomForNames(monkeypatch)
    broker.plane.apply([r.RemoveTopicRecord(topic_id=topic_id)])
    broker.scheduler.settle()
    assert len(logs_of(broker, "many")) == MANY
    disk.is_full = False
    assert broker.replica_logs.try_kept()
    assert 0 < len(logs_of(broker, "many")) < MANY
    while broker.replica_logs.try_kept():
        pass
    assert logs_of(broker, "many") == []


def test_a_topic_of_the_same_name_waits_for_room_to_rename_the_old_logs(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic_id = broker.create_topic("t")
    produce(broker, batch(3), "t")
    disk = NoRoomForNames(monkeypatch)
    broker.plane.apply([r.RemoveTopicRecord(topic_id=topic_id)])
    broker.create_topic("t")
    assert produce(broker, batch(), "t").error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert not broker.replica_logs.try_refused()
    disk.is_full = False
    broker.replica_logs.try_refused()
    assert produce(broker, batch(), "t").base_offset == 0
    assert on_disk(broker, "t-*-stray") == []
    assert len(on_disk(broker, "t-*-delete")) == 1
    assert not broker.replica_logs.try_kept()
    assert logs_of(broker, "t") == [0]


def test_a_node_stops_on_a_disk_that_has_no_room_to_rename_logs(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic_id = broker.create_topic("t")
    NoRoomForNames(monkeypatch)
    broker.plane.apply([r.RemoveTopicRecord(topic_id=topic_id)])
    broker.replica_logs.close()
    assert on_disk(broker, "t-*") == ["t-0"]
