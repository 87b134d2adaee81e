"""Groups, offsets and transactional ids as the metrics page shows them."""

from __future__ import annotations

from pathlib import Path

from headrace.protocol.messages.find_coordinator import FindCoordinatorRequest
from headrace.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from headrace.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from headrace.server.coordinator_metrics import group_families, transaction_families
from tests.unit.broker.harness import Broker


def shown(broker: Broker) -> dict[str, float]:
    """Family, labels and value of every sample, without the common prefixes."""
    families = [
        *group_families(broker.groups.coordinators),
        *transaction_families(broker.transactions.transactions.coordinators),
    ]
    return {
        f"{family.name.rpartition('metrics_')[2]}{suffix}{','.join(labels.values())}": value
        for family in families
        for suffix, labels, value in family.samples
    }


def commit(broker: Broker, group: str, partitions: int) -> None:
    topic = OffsetCommitRequestTopic(
        name="t",
        partitions=[
            OffsetCommitRequestPartition(partition_index=index, committed_offset=5)
            for index in range(partitions)
        ],
    )
    request = OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=-1, topics=[topic])
    assert broker.ask(request, 9).topics[0].partitions[0].error_code == 0


def test_commits_and_deletions_move_the_counts(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    broker.create_topic("t", 3)
    broker.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["one", "two"]))
    assert shown(broker)["offset_commit_count"] == 0
    commit(broker, "one", 3)
    commit(broker, "one", 3)
    commit(broker, "two", 1)
    found = shown(broker)
    manager = "kafka_coordinator_group_groupmetadatamanager_"
    assert found[f"{manager}numgroups"] == found[f"{manager}numgroupsempty"] == 2
    assert found[f"{manager}numoffsets"] == 4
    assert found["group_countclassic"] == 2
    assert found["group_countconsumer"] == 0
    assert found["offset_commit_count"] == 7
    assert found["num_partitionsfailed"] == 0
    broker.ask(
        OffsetDeleteRequest(
            group_id="one",
            topics=[
                OffsetDeleteRequestTopic(
                    name="t", partitions=[OffsetDeleteRequestPartition(partition_index=2)]
                )
            ],
        )
    )
    found = shown(broker)
    assert found["offset_deletion_count"] == 1
    assert found[f"{manager}numoffsets"] == 3
    broker.close()
