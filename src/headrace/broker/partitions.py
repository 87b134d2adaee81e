"""The partitions that live on this node, found by topic name or topic id."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.uuids import ZERO_UUID
from headrace.replication.partition import Partition

_NONE: dict[int, Partition] = {}


class Partitions:
    """A registry that the metadata listener fills and the handlers read."""

    __slots__ = ("_by_id", "_by_name", "_offline")

    def __init__(self) -> None:
        self._by_name: dict[str, dict[int, Partition]] = {}
        self._by_id: dict[bytes, dict[int, Partition]] = {}
        #: With the topic's id, by which newer clients ask.
        self._offline: dict[tuple[str, int], bytes] = {}

    def __iter__(self) -> Iterator[Partition]:
        for partitions in self._by_name.values():
            yield from partitions.values()

    def __len__(self) -> int:
        return sum(len(partitions) for partitions in self._by_name.values())

    def named(self, topic: str) -> dict[int, Partition]:
        return self._by_name.get(topic, _NONE)

    def identified(self, topic_id: bytes) -> dict[int, Partition]:
        return self._by_id.get(topic_id, _NONE)

    def get(self, topic: str, index: int) -> Partition | None:
        return self._by_name.get(topic, _NONE).get(index)

    def require(self, topic: str, index: int) -> Partition:
        """The partition, or Kafka's error for one that is not here."""
        partition = self._by_name.get(topic, _NONE).get(index)
        if partition is None:
            raise self.missing(topic, index)
        return partition

    def missing(self, topic: str, index: int) -> KafkaError:
        if (topic, index) in self._offline:
            return KafkaError(
                ErrorCode.KAFKA_STORAGE_ERROR,
                f"The data directory of {topic}-{index} is offline.",
            )
        return KafkaError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"Partition {topic}-{index} is not on this node.",
        )

    def missing_by_id(self, topic_id: bytes, index: int) -> KafkaError:
        """Kafka's error for a partition that is not here, asked for by the topic's id."""
        siblings = self._by_id.get(topic_id)
        if siblings:
            return self.missing(next(iter(siblings.values())).topic, index)
        for (topic, _), offline_id in self._offline.items():
            if offline_id == topic_id:
                return self.missing(topic, index)
        return KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)

    def add(self, partition: Partition) -> None:
        self._offline.pop((partition.topic, partition.index), None)
        self._by_name.setdefault(partition.topic, {})[partition.index] = partition
        self._by_id.setdefault(partition.topic_id, {})[partition.index] = partition

    def remove(self, topic: str, index: int) -> Partition | None:
        self._offline.pop((topic, index), None)
        partition = self._by_name.get(topic, {}).pop(index, None)
        if partition is None:
            return None
        siblings = self._by_id[partition.topic_id]
        siblings.pop(index, None)
        if not siblings:
            del self._by_id[partition.topic_id]
        if not self._by_name[topic]:
            del self._by_name[topic]
        return partition

    def mark_offline(self, topic: str, index: int, topic_id: bytes = ZERO_UUID) -> None:
        """The directory failed: clients get a storage error until the node is mended."""
        partition = self.remove(topic, index)
        self._offline[topic, index] = topic_id if partition is None else partition.topic_id

    @property
    def offline(self) -> frozenset[tuple[str, int]]:
        return frozenset(self._offline)
