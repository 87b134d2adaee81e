"""Keeps the partitions on this node in step with the metadata image.

The image decides what exists; this listener creates, configures, retires and deletes the logs
behind it. It is the only writer of the registry that handlers read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

from headrace.base.clock import Clock
from headrace.base.errors import KafkaError
from headrace.broker.partitions import Partitions
from headrace.log.checkpoint_rounds import CheckpointRound
from headrace.log.config import LogConfig
from headrace.log.log_manager import LogManager
from headrace.metadata.changes import MetadataChanges
from headrace.metadata.image import ConfigResource, MetadataImage, PartitionImage, TopicImage
from headrace.replication.partition import Leadership, Partition

logger = logging.getLogger(__name__)


class TopicConfigs:
    """The effective settings of topics: what the topic says over what the broker defaults to."""

    def __init__(self, broker_defaults: Mapping[str, str]) -> None:
        self._broker_defaults = dict(broker_defaults)
        self._plain = LogConfig.from_settings(self._broker_defaults)

    def of(self, image: MetadataImage, topic: str) -> LogConfig:
        own = image.config(ConfigResource.TOPIC, topic)
        if not own:
            return self._plain
        return LogConfig.from_settings({**self._broker_defaults, **own})

    def replace_defaults(self, broker_defaults: Mapping[str, str]) -> None:
        """The broker's own settings changed while it runs."""
        self._broker_defaults = dict(broker_defaults)
        self._plain = LogConfig.from_settings(self._broker_defaults)


class HostedReplicas:
    """Listens to the metadata plane."""

    def __init__(
        self,
        node_id: int,
        partitions: Partitions,
        logs: LogManager,
        configs: TopicConfigs,
        clock: Clock,
        write_checkpoints: Callable[[CheckpointRound], None],
    ) -> None:
        self._node_id = node_id
        self._partitions = partitions
        self._logs = logs
        self._configs = configs
        self._clock = clock
        self._write_checkpoints = write_checkpoints
        #: Called with the topic of each partition that vanished, so that waiters hear of it.
        self.on_removed: list[Callable[[Partition], None]] = []

    def start(self, image: MetadataImage, high_watermarks: Mapping[tuple[str, int], int]) -> None:
        """Take over everything that the image has at start; what it lacks is put aside."""
        by_id = image.topics_by_id
        self._logs.put_strays_aside(
            lambda log: (
                log.topic_id in by_id and log.partition < len(by_id[log.topic_id].partitions)
            )
        )
        for topic in image.topics_by_name.values():
            self._update_topic(topic, range(len(topic.partitions)), high_watermarks)

    def metadata_changed(self, changes: MetadataChanges, image: MetadataImage) -> None:
        """The listener itself."""
        gone: list[tuple[str, int]] = []
        for change in changes.topics.values():
            if change.after is None:
                gone += self._retire(change.topic)
        if gone:
            self._write_checkpoints(self._logs.delete(gone, self._clock.wall_ms()))
        for change in changes.topics.values():
            if change.after is not None:
                self._update_topic(change.after, change.partitions, {})
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
        high_watermarks: Mapping[tuple[str, int], int],
    ) -> None:
        for index in indexes:
            image = topic.partitions[index]
            if self._node_id in image.replicas:
                self._update_partition(topic, index, image, high_watermarks)

    def _update_partition(
        self,
        topic: TopicImage,
        index: int,
        image: PartitionImage,
        high_watermarks: Mapping[tuple[str, int], int],
    ) -> None:
        partition = self._partitions.get(topic.name, index)
        if partition is None or partition.topic_id != topic.topic_id:
            try:
                log = self._logs.create(
                    topic.name,
                    index,
                    topic_id=topic.topic_id,
                    now_ms=self._clock.wall_ms(),
                    directory_id=image.directories[image.replicas.index(self._node_id)],
                )
            except KafkaError as error:
                logger.error("%s-%s is offline: %s", topic.name, index, error)
                self._partitions.mark_offline(topic.name, index, topic.topic_id)
                return
            partition = Partition(topic.name, index, topic.topic_id, log, self._node_id)
            partition.restore_high_watermark(high_watermarks.get((topic.name, index), 0))
            self._partitions.add(partition)
        partition.lead_or_follow(
            Leadership(
                image.leader, image.leader_epoch, image.replicas, image.isr, image.partition_epoch
            )
        )
