"""The controller, the quorum and the brokers it knows, on the metrics page."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.metadata.changes import MetadataChanges
from headrace.metadata.image import NO_LEADER, MetadataImage, PartitionImage
from headrace.server.metadata_plane import MetadataPlane
from headrace.server.metadata_snapshots import SnapshotMaker
from headrace.server.prometheus import COUNTER, GAUGE, Family, single

_CONTROLLER = "kafka.controller:type=KafkaController,name="
_RAFT = "kafka.server:type=raft-metrics, "


class IsrChanges:
    """Counts how often partitions led here lost and gained in-sync replicas, and how often a
    leader was elected that was none of them."""

    def __init__(self, node_id: int) -> None:
        self._node_id = node_id
        self.shrinks = 0
        self.expands = 0
        self.unclean_elections = 0

    def metadata_changed(self, changes: MetadataChanges, image: MetadataImage) -> None:
        """A listener of the metadata plane."""
        for change in changes.topics.values():
            if change.before is None or change.after is None:
                continue
            for index in change.partitions:
                if index < len(change.before.partitions):
                    self._compare(change.before.partitions[index], change.after.partitions[index])

    def _compare(self, before: PartitionImage, after: PartitionImage) -> None:
        if after.leader != before.leader and after.leader != NO_LEADER:
            self.unclean_elections += after.leader not in (*before.isr, *before.elr)
        if after.leader != self._node_id:
            return
        self.shrinks += len(after.isr) < len(before.isr)
        self.expands += len(after.isr) > len(before.isr)

    def families(self) -> Iterator[Family]:
        for name, count in (("IsrShrinks", self.shrinks), ("IsrExpands", self.expands)):
            yield single(
                f"kafka_server_replicamanager_{name.lower()}_total",
                COUNTER,
                f"kafka.server:type=ReplicaManager,name={name}PerSec",
                count,
            )
        yield single(
            "kafka_controller_controllerstats_uncleanleaderelections_total",
            COUNTER,
            "kafka.controller:type=ControllerStats,name=UncleanLeaderElectionsPerSec",
            self.unclean_elections,
        )


def controller_families(plane: MetadataPlane, now_ms: int) -> Iterator[Family]:
    """What the controller on this node answers for; a node that is none has only its count."""
    is_active = plane.raft.leader is not None
    yield _controller("ActiveControllerCount", int(is_active))
    image = plane.image
    yield _controller("LastAppliedRecordOffset", image.offset)
    yield _controller("LastAppliedRecordTimestamp", image.timestamp_ms)
    # The one that writes the records is never behind them.
    yield _controller("LastAppliedRecordLagMs", 0 if is_active else now_ms - image.timestamp_ms)
    yield _controller("LastCommittedRecordOffset", plane.high_watermark - 1)
    yield _controller("MetadataErrorCount", plane.error_count)
    if not is_active:
        return
    brokers = image.brokers.values()
    yield _controller("ActiveBrokerCount", sum(not broker.fenced for broker in brokers))
    yield _controller("FencedBrokerCount", sum(broker.fenced for broker in brokers))
    yield _controller(
        "ControlledShutdownBrokerCount", sum(broker.in_controlled_shutdown for broker in brokers)
    )
    partitions = [
        partition for topic in image.topics_by_name.values() for partition in topic.partitions
    ]
    yield _controller("GlobalTopicCount", len(image.topics_by_name))
    yield _controller("GlobalPartitionCount", len(partitions))
    yield _controller("OfflinePartitionsCount", sum(p.leader == NO_LEADER for p in partitions))
    yield _controller(
        "PreferredReplicaImbalanceCount", sum(p.leader != p.replicas[0] for p in partitions)
    )


def snapshot_families(snapshots: SnapshotMaker, now_ms: float) -> Iterator[Family]:
    """The last metadata snapshot of this process; before it, the one that it loaded."""
    bean = "kafka.server:type=SnapshotEmitter,name="
    for name, value in (
        ("LatestSnapshotGeneratedBytes", snapshots.latest_bytes),
        ("LatestSnapshotGeneratedAgeMs", int(now_ms - snapshots.latest_ms)),
    ):
        yield single(f"kafka_server_snapshotemitter_{name.lower()}", GAUGE, bean + name, value)


def quorum_families(plane: MetadataPlane) -> Iterator[Family]:
    """The Raft quorum as this node sees it."""
    raft = plane.raft
    state = "unattached" if raft.leader is None else "leader"
    yield Family(
        "kafka_server_raft_metrics_current_state_info",
        GAUGE,
        f"{_RAFT}current-state",
        [("", {"state": state}, 1)],
    )
    for name, value in (
        ("current-leader", raft.election.leader_id),
        ("current-epoch", raft.election.epoch),
        ("current-vote", raft.election.voted_id),
        ("high-watermark", plane.high_watermark),
        ("log-end-offset", plane.log_end_offset),
        ("number-of-voters", len(raft.voters)),
    ):
        flat = name.replace("-", "_")
        yield single(f"kafka_server_raft_metrics_{flat}", GAUGE, _RAFT + name, value)


def loader_families(image: MetadataImage, controller_id: int) -> Iterator[Family]:
    """The metadata that this node works with."""
    bean = "kafka.server:type=MetadataLoader,name="
    yield single(
        "kafka_server_metadataloader_currentcontrollerid",
        GAUGE,
        f"{bean}CurrentControllerId",
        controller_id,
    )
    yield single(
        "kafka_server_metadataloader_currentmetadataversion",
        GAUGE,
        f"{bean}CurrentMetadataVersion",
        image.metadata_version,
    )
    yield Family(
        "kafka_server_metadataloader_finalizedlevel",
        GAUGE,
        f"{bean}FinalizedLevel",
        [
            ("", {"featureName": _camel_case(name)}, level)
            for name, level in sorted(image.features.items())
        ],
    )


def _controller(name: str, value: int) -> Family:
    return single(
        f"kafka_controller_kafkacontroller_{name.lower()}", GAUGE, _CONTROLLER + name, value
    )


def _camel_case(name: str) -> str:
    """`metadata.version` as Kafka's bean names write it: `metadataVersion`."""
    first, *others = name.split(".")
    return first + "".join(word.capitalize() for word in others)
