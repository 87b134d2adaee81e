"""The registry of partitions, and what keeps it in step with the metadata."""

from pathlib import Path

import pytest

from headrace.base.errors import ErrorCode, KafkaError
from headrace.metadata import records as r
from headrace.metadata.image import ConfigResource
from headrace.replication.partition import Partition
from tests.unit.broker.batches import batch, produce
from tests.unit.broker.harness import Broker


def test_partitions_are_found_by_name_and_by_id(broker: Broker) -> None:
    topic_id = broker.create_topic("t", 3)
    partitions = broker.partitions
    assert len(partitions) == 3
    assert set(partitions) == set(partitions.named("t").values())
    assert partitions.named("t") == partitions.identified(topic_id)
    assert partitions.get("t", 2) is partitions.require("t", 2)
    assert partitions.get("t", 3) is None
    assert partitions.named("u") == {}
    assert partitions.identified(b"?" * 16) == {}


def test_a_partition_that_is_not_here_has_kafkas_error(broker: Broker) -> None:
    topic_id = broker.create_topic("t", 2)
    broker.partitions.mark_offline("t", 1)

    def code(topic: str, index: int) -> ErrorCode:
        with pytest.raises(KafkaError) as caught:
            broker.partitions.require(topic, index)
        return caught.value.code

    assert code("t", 1) == ErrorCode.KAFKA_STORAGE_ERROR
    assert code("t", 2) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert code("u", 0) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    by_id = broker.partitions.missing_by_id
    assert by_id(topic_id, 1).code == ErrorCode.KAFKA_STORAGE_ERROR
    assert by_id(topic_id, 2).code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert by_id(b"?" * 16, 0).code == ErrorCode.UNKNOWN_TOPIC_ID
    broker.partitions.mark_offline("t", 0)
    assert by_id(topic_id, 0).code == ErrorCode.KAFKA_STORAGE_ERROR
    assert by_id(topic_id, 7).code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert broker.partitions.offline == {("t", 0), ("t", 1)}


def test_a_topic_that_is_deleted_leaves_nothing_in_the_registry(broker: Broker) -> None:
    topic_id = broker.create_topic("t", 2)
    broker.partitions.mark_offline("t", 1)
    gone: list[Partition] = []
    broker.replicas.on_removed.append(gone.append)
    broker.plane.apply([r.RemoveTopicRecord(topic_id=topic_id)])
    assert len(broker.partitions) == 0
    assert broker.partitions.identified(topic_id) == {}
    assert broker.partitions.offline == frozenset()
    assert [(partition.topic, partition.index) for partition in gone] == [("t", 0)]


def test_partitions_of_other_nodes_are_not_made_here(broker: Broker) -> None:
    broker.plane.apply(
        [
            r.TopicRecord(name="far", topic_id=b"f" * 16),
            r.PartitionRecord(
                partition_id=0,
                topic_id=b"f" * 16,
                replicas=[2, 3],
                isr=[2],
                leader=2,
                leader_epoch=0,
                partition_epoch=0,
            ),
        ]
    )
    assert broker.partitions.named("far") == {}


def test_a_new_leader_epoch_reaches_the_partition(broker: Broker) -> None:
    topic_id = broker.create_topic("t")
    produce(broker, batch())
    broker.plane.apply([r.PartitionChangeRecord(topic_id=topic_id, partition_id=0, leader=1)])
    partition = broker.partition("t")
    assert partition.leadership.leader_epoch == 1
    produce(broker, batch())
    assert partition.log.leader_epochs.latest_epoch == 1


def test_a_changed_setting_reaches_every_partition_of_its_topic_and_no_other(
    broker: Broker,
) -> None:
    broker.create_topic("t", 2)
    broker.create_topic("u")
    record = r.ConfigRecord(
        resource_type=ConfigResource.TOPIC, resource_name="t", name="retention.ms", value="5"
    )
    broker.plane.apply([record])
    kept = [broker.partition("t", index).log.config.retention_ms for index in (0, 1)]
    assert kept == [5, 5]
    assert broker.partition("u").log.config.retention_ms == 604_800_000
    record.value = None
    broker.plane.apply([record])
    assert broker.partition("t").log.config.retention_ms == 604_800_000


def test_new_defaults_reach_topics_that_say_nothing_themselves(broker: Broker) -> None:
    broker.create_topic("own", retention_ms="5")
    broker.create_topic("plain")
    defaults = {**broker.config.topic_defaults, "retention.ms": "77"}
    broker.replicas.defaults_changed(defaults, broker.plane.image)
    assert broker.partition("own").log.config.retention_ms == 5
    assert broker.partition("plain").log.config.retention_ms == 77


def test_a_directory_that_cannot_be_written_makes_a_partition_offline_not_the_node(
    tmp_path: Path,
) -> None:
    broker = Broker(tmp_path)
    Path(broker.directories[0].path, "t-0").write_text("in the way")
    broker.create_topic("t")
    assert produce(broker, batch()).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    broker.create_topic("u")
    assert produce(broker, batch(), "u").error_code == ErrorCode.NONE
    broker.close()


def test_the_high_watermark_of_the_last_run_is_taken_up_within_the_log(broker: Broker) -> None:
    broker.create_topic("t")
    produce(broker, batch(5))
    partition = broker.partition("t")
    for stored, expected in ((3, 3), (99, 5), (-1, 0)):
        partition.restore_high_watermark(stored)
        assert partition.high_watermark == expected
