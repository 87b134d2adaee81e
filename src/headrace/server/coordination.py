"""The coordinators of this node: made of their parts, and kept in step with the metadata."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from headrace.base.clock import Clock
from headrace.base.settings.typed import Values, integer
from headrace.broker.coordination.coordinators import Coordinators
from headrace.broker.coordination.groups import Groups
from headrace.broker.coordination.image_topics import ImageTopics
from headrace.broker.coordination.internal_topics import OFFSETS_TOPIC, InternalTopic
from headrace.broker.parked import Scheduler
from headrace.broker.partitions import Partitions
from headrace.broker.replica_logs import ReplicaLogs
from headrace.groups.config import GroupConfig
from headrace.groups.consumer.config import ConsumerGroupConfig
from headrace.groups.coordinator import GroupCoordinator
from headrace.groups.record_codec import GroupRecordCodec
from headrace.metadata.changes import MetadataChanges
from headrace.metadata.image import MetadataImage
from headrace.replication.partition import Partition
from headrace.server.consumer_groups import add_consumer_groups, group_settings
from headrace.server.metadata_plane import MetadataPlane

_CONSUMER_DEFAULTS = ConsumerGroupConfig()


def group_coordinators(
    config: GroupConfig,
    image: Callable[[], MetadataImage],
    scheduler: Scheduler,
    clock: Clock,
    *,
    broker_values: Callable[[], Values],
    consumer_config: ConsumerGroupConfig = _CONSUMER_DEFAULTS,
) -> Groups:
    """`broker_values` are the broker's settings as they are now; some change while it runs."""
    topics = ImageTopics(image)
    settings = group_settings(image, broker_values, consumer_config)

    def new_id() -> str:
        return str(uuid.uuid4())

    def make(partition: Partition) -> GroupCoordinator:
        coordinator = GroupCoordinator(config, topics, new_id)
        return add_consumer_groups(coordinator, consumer_config, config, settings, topics, new_id)

    return Groups(
        Coordinators(
            OFFSETS_TOPIC,
            make,
            GroupRecordCodec(),
            image,
            scheduler,
            clock,
            compression=config.records_compression,
        )
    )


def follow_groups(groups: Groups, partitions: Partitions, plane: MetadataPlane) -> None:
    """Lead what this node leads now, and follow every change from here on.

    To be called after the partitions themselves follow the metadata.
    """

    def changed(changes: MetadataChanges, image: MetadataImage) -> None:
        groups.coordinators.metadata_changed(changes, partitions)
        groups.topics_changed(changes)

    groups.coordinators.start(partitions)
    plane.subscribe(changed)


def lead_recovered(coordinators: Coordinators, replica_logs: ReplicaLogs) -> None:
    """Lead also what comes online later, since the disk had no room for its log at first."""

    def recovered(partition: Partition) -> None:
        if partition.topic == coordinators.topic and partition.is_leader:
            coordinators.lead(partition)

    replica_logs.on_recovered.append(recovered)


def offsets_topic(values: Values) -> InternalTopic:
    """How `__consumer_offsets` is made when the first group needs it."""
    return InternalTopic(
        OFFSETS_TOPIC,
        partitions=integer(values, "offsets.topic.num.partitions"),
        replication_factor=integer(values, "offsets.topic.replication.factor"),
        configs={
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(integer(values, "offsets.topic.segment.bytes")),
        },
    )
