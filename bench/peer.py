"""A broker under measurement: a node, its topics, and what it costs."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

# The types of these lie where their package does not re-export them.
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.cimpl import NewTopic

from bench.processes import cpu_seconds, resident_megabytes
from bench.rows import Side
from tests.support.node import Node

_DELETED_WITHIN_SECONDS = 30.0
_REPLY_SECONDS = 60.0


@dataclass(slots=True)
class Peer:
    """One running broker and the side it stands for."""

    side: Side
    node: Node
    started_at: float

    @property
    def bootstrap(self) -> str:
        return self.node.bootstrap

    @property
    def age_seconds(self) -> float:
        """Seconds since the broker first answered."""
        return time.monotonic() - self.started_at

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.node.pid)

    def resident_megabytes(self) -> float:
        return resident_megabytes(self.node.pid)

    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 3})

    def create_topic(
        self, topic: str, partitions: int, config: Mapping[str, str] | None = None
    ) -> None:
        new_topic = NewTopic(topic, partitions, 1, config=dict(config or {}))
        admin = self.admin()  # Replies come only as long as it lives.
        replies = admin.create_topics([new_topic], request_timeout=_REPLY_SECONDS)
        replies[topic].result(_REPLY_SECONDS)

    def set_topic_config(self, topic: str, config: Mapping[str, str]) -> None:
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            for name, value in config.items()
        ]
        resource = ConfigResource("topic", topic, incremental_configs=entries)
        admin = self.admin()
        admin.incremental_alter_configs([resource])[resource].result(_REPLY_SECONDS)

    def delete_topic(self, topic: str) -> None:
        """Delete a topic and wait until it has left the disk."""
        admin = self.admin()
        admin.delete_topics([topic])[topic].result(_REPLY_SECONDS)
        deadline = time.monotonic() + _DELETED_WITHIN_SECONDS
        while any(self.node.directory.glob(f"{topic}-*")):
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.side} did not remove {topic} from its directory")
            time.sleep(0.02)

    def end_offsets(self, topic: str, partitions: int) -> int:
        """The sum of the end offsets: how many records the topic has been given."""
        # librdkafka insists on a group; asking for offsets never joins it.
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "bench"})
        try:
            total = 0
            for index in range(partitions):
                partition = TopicPartition(topic, index)
                offsets = consumer.get_watermark_offsets(partition, timeout=_REPLY_SECONDS)
                total += int(offsets[1])
            return total
        finally:
            consumer.close()
