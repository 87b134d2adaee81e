"""Keeps the partitions on this node in step with the metadata image.

The image decides what exists; this listener creates, configures, retires and deletes the logs
behind it. It is the only writer of the registry that handlers read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

from headrace.base.uuids import ZERO_UUID
from headrace.broker.partitions import Partitions
from headrace.broker.replica_logs import ReplicaLogs
from headrace.log.config import LogConfig
from headrace.log.log_manager import LogManager
from headrace.log.partition_log import PartitionLog
from headrace.metadata.changes import MetadataChanges
from headrace.metadata.controller.topic_names import INTERNAL_TOPICS
from headrace.metadata.image import ConfigResource, MetadataImage, TopicImage
from headrace.replication.partition import Leadership, MakeLog, Partition

logger = logging.getLogger(__name__)

#: Logs that are made or renamed before the change is answered; more of them take turns.
_AT_ONCE = 32
_NONE: Mapping[tuple[str, int], int] = {}


class TopicConfigs:
    """The effective settings of topics: what the topic says over what the broker defaults to."""

    def __init__(self, broker_defaults: Mapping[str, str]) -> None:
        self._plain = self._last = LogConfig.from_settings(broker_defaults)
        self._last_own: Mapping[str, str] | None = None

    def of(self, image: MetadataImage, topic: str) -> LogConfig:
        own = image.config(ConfigResource.TOPIC, topic)
        if not own:
            return self._plain
        # The partitions of a topic ask one after the other, and images never change.
        if own is not self._last_own:
            self._last = LogConfig.from_settings(own, over=self._plain)
            self._last_own = own
        return self._last

    def replace_defaults(self, broker_defaults: Mapping[str, str]) -> None:
        """The broker's own settings changed while it runs."""
        self._plain = LogConfig.from_settings(broker_defaults)
        self._last_own = None


def _belongs(log: PartitionLog, image: MetadataImage) -> bool:
    """Whether metadata knows the partition that a log on the disk was made for."""
    topic = image.topics_by_id.get(log.topic_id)
    if topic is None and log.topic_id == ZERO_UUID and log.log_end_offset == 0:
        # The node died between making the directory and writing the topic's id into it.
        topic = image.topics_by_name.get(log.topic)
    return topic is not None and log.partition < len(topic.partitions)


class HostedReplicas:
    """Listens to the metadata plane."""

    def __init__(
        self,
        node_id: int,
        partitions: Partitions,
        logs: LogManager,
        configs: TopicConfigs,
        replica_logs: ReplicaLogs,
    ) -> None:
        self._node_id = node_id
        self._partitions = partitions
        self._logs = logs
        self._configs = configs
        self._replica_logs = replica_logs
        #: Called with the topic of each partition that vanished, so that waiters hear of it.
        self.on_removed: list[Callable[[Partition], None]] = []

    def start(self, image: MetadataImage, high_watermarks: Mapping[tuple[str, int], int]) -> None:
        """Take over everything that the image has at start; what it lacks is put aside."""
        strays = self._logs.put_strays_aside(lambda log: _belongs(log, image))
        if strays:
            logger.warning(
                "%d logs belong to no topic and are put aside, the first as %s",
                len(strays),
                strays[0],
            )
        room = _AT_ONCE
        for topic in image.topics_by_name.values():
            indexes = range(len(topic.partitions))
            room = self._update_topic(topic, indexes, room, high_watermarks)

    def metadata_changed(self, changes: MetadataChanges, image: MetadataImage) -> None:
        """The listener itself."""
        gone: list[tuple[str, int]] = []
        for change in changes.topics.values():
            if change.after is None:
                gone += self._retire(change.topic)
        if gone:
            self._replica_logs.delete(gone, at_once=len(gone) <= _AT_ONCE)
        room = _AT_ONCE
        for change in changes.topics.values():
            if change.after is not None:
                room = self._update_topic(change.after, change.partitions, room)
        for resource_type, name in changes.configs:
            if resource_type == ConfigResource.TOPIC and name in image.topics_by_name:
                self._logs.set_config(name, self._configs.of(image, name))

    def defaults_changed(self, broker_defaults: Mapping[str, str], image: MetadataImage) -> None:
        """The broker's settings changed, so all topics get their settings anew."""
        self._configs.replace_defaults(broker_defaults)
        for topic in image.topics_by_name:
            self._logs.set_config(topic, self._configs.of(image, topic))

    def _retire(self, topic: TopicImage) -> list[tuple[str, int]]:
        gone = []
        for index in range(len(topic.partitions)):
            partition = self._partitions.remove(topic.name, index)
            if partition is not None:
                for listener in self.on_removed:
                    listener(partition)
            gone.append((topic.name, index))
        return gone

    def _update_topic(
        self,
        topic: TopicImage,
        indexes: Iterable[int],
        room: int,
        high_watermarks: Mapping[tuple[str, int], int] = _NONE,
    ) -> int:
        """Bring partitions to what the image says; how many more logs may be made at once."""
        for index in indexes:
            image = topic.partitions[index]
            if self._node_id not in image.replicas:
                continue
            partition = self._partitions.get(topic.name, index)
            if partition is None:
                partition = self._replica_logs.refused(topic.name, index)
            if partition is None or partition.topic_id != topic.topic_id:
                log = self._logs.get(topic.name, index)
                if log is not None and log.topic_id == topic.topic_id:
                    partition = self._partition_of(topic, index, log)
                    partition.restore_high_watermark(high_watermarks.get((topic.name, index), 0))
                    self._partitions.add(partition)
                else:
                    partition = self._partition_of(topic, index, self._replica_logs.make)
                    directory_id = image.directories[image.replicas.index(self._node_id)]
                    # Coordinators read the logs of their topics as soon as they lead them.
                    at_once = room > 0 or topic.name in INTERNAL_TOPICS
                    self._replica_logs.add(partition, directory_id, at_once=at_once)
                    room -= 1
            partition.lead_or_follow(
                Leadership(
                    image.leader,
                    image.leader_epoch,
                    image.replicas,
                    image.isr,
                    image.partition_epoch,
                )
            )
        return room

    def _partition_of(
        self, topic: TopicImage, index: int, log: PartitionLog | MakeLog
    ) -> Partition:
        return Partition(topic.name, index, topic.topic_id, log, self._node_id)
