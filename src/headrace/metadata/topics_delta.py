"""Topics under change: the part of a delta that must stay cheap with ten thousand partitions."""

from collections.abc import Sequence

from headrace.base.checks import InvariantBrokenError
from headrace.base.uuids import DIRECTORY_MIGRATING, DIRECTORY_UNASSIGNED, format_uuid
from headrace.metadata.changes import TopicChange
from headrace.metadata.image import MetadataImage, PartitionImage, TopicImage
from headrace.metadata.records import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

NO_LEADER_CHANGE = -2
NO_RECOVERY_CHANGE = -1


class _OpenTopic:
    """One topic while its records are replayed."""

    __slots__ = ("before", "changed", "name", "partitions", "topic_id")

    def __init__(self, name: str, topic_id: bytes, before: TopicImage | None) -> None:
        self.name = name
        self.topic_id = topic_id
        self.before = before
        self.partitions: dict[int, PartitionImage] = (
            {} if before is None else dict(enumerate(before.partitions))
        )
        self.changed: set[int] = set()

    def close(self) -> TopicImage:
        count = len(self.partitions)
        try:
            # Records may come in any order, but a topic's partitions are always 0 to n-1.
            partitions = tuple([self.partitions[index] for index in range(count)])
        except KeyError as missing:
            raise InvariantBrokenError(
                f"topic {self.name} has {count} partitions, but not number {missing}"
            ) from None
        return TopicImage(self.name, self.topic_id, partitions)


class TopicsDelta:
    """Replays the records of topics and partitions."""

    __slots__ = ("_image", "_names", "_open", "_removed")

    def __init__(self, image: MetadataImage) -> None:
        self._image = image
        self._open: dict[bytes, _OpenTopic] = {}
        #: Topics of the image that are gone, and the names of new topics.
        self._removed: dict[bytes, TopicImage] = {}
        self._names: dict[str, bytes] = {}

    def topic_name(self, topic_id: bytes) -> str | None:
        opened = self._open.get(topic_id)
        if opened is not None:
            return opened.name
        topic = self._image.topics_by_id.get(topic_id)
        return None if topic is None or topic_id in self._removed else topic.name

    def add_topic(self, record: TopicRecord) -> None:
        self._open[record.topic_id] = _OpenTopic(record.name, record.topic_id, None)
        self._names[record.name] = record.topic_id

    def add_partition(self, record: PartitionRecord) -> None:
        topic = self._opened(record.topic_id)
        topic.partitions[record.partition_id] = partition_of(record)
        topic.changed.add(record.partition_id)

    def change_partition(self, record: PartitionChangeRecord) -> None:
        topic = self._opened(record.topic_id)
        partition = topic.partitions.get(record.partition_id)
        if partition is None:
            raise InvariantBrokenError(
                f"a change of {topic.name}-{record.partition_id}, which does not exist"
            )
        topic.partitions[record.partition_id] = changed_partition(partition, record)
        topic.changed.add(record.partition_id)

    def remove_topic(self, record: RemoveTopicRecord) -> str:
        """Forget a topic; returns its name."""
        topic_id = record.topic_id
        name = self.topic_name(topic_id)
        if name is None:
            raise InvariantBrokenError(f"no topic {format_uuid(topic_id)} to remove")
        self._open.pop(topic_id, None)
        if self._names.get(name) == topic_id:
            del self._names[name]
        before = self._image.topics_by_id.get(topic_id)
        if before is not None:
            self._removed[topic_id] = before
        return name

    def clear_elr(self, record: ClearElrRecord) -> None:
        """Empty the eligible leader replicas of one topic, or of all if it names none."""
        for topic_id in self._matching(record.topic_name):
            image = self._image.topics_by_id.get(topic_id)
            if topic_id not in self._open and image is not None and not _has_elr(image.partitions):
                continue
            topic = self._opened(topic_id)
            for index, partition in topic.partitions.items():
                if partition.elr or partition.last_known_elr:
                    topic.partitions[index] = partition._replace(
                        elr=(), last_known_elr=(), partition_epoch=partition.partition_epoch + 1
                    )
                    topic.changed.add(index)

    def _matching(self, name: str) -> list[bytes]:
        if not name:
            ids = [*self._image.topics_by_id, *self._open]
            return [topic_id for topic_id in dict.fromkeys(ids) if topic_id not in self._removed]
        topic_id = self._names.get(name)
        if topic_id is None:
            topic = self._image.topics_by_name.get(name)
            if topic is None or topic.topic_id in self._removed:
                raise InvariantBrokenError(f"no topic {name} to clear the ELR of")
            topic_id = topic.topic_id
        return [topic_id]

    def _opened(self, topic_id: bytes) -> _OpenTopic:
        topic = self._open.get(topic_id)
        if topic is None:
            before = self._image.topics_by_id.get(topic_id)
            if before is None or topic_id in self._removed:
                raise InvariantBrokenError(f"no topic {format_uuid(topic_id)}")
            topic = self._open[topic_id] = _OpenTopic(before.name, topic_id, before)
        return topic

    def apply(
        self, changes: dict[bytes, TopicChange]
    ) -> tuple[dict[str, TopicImage], dict[bytes, TopicImage]] | None:
        """The new dictionaries by name and by id, or None if nothing changed."""
        if not self._open and not self._removed:
            return None
        by_name = dict(self._image.topics_by_name)
        by_id = dict(self._image.topics_by_id)
        for topic_id, before in self._removed.items():
            del by_id[topic_id]
            del by_name[before.name]
            changes[topic_id] = TopicChange(before, None, ())
        for topic_id, opened in self._open.items():
            topic = opened.close()
            by_id[topic_id] = by_name[opened.name] = topic
            changes[topic_id] = TopicChange(opened.before, topic, tuple(sorted(opened.changed)))
        return by_name, by_id


def _has_elr(partitions: Sequence[PartitionImage]) -> bool:
    return any(partition.elr or partition.last_known_elr for partition in partitions)


def partition_of(record: PartitionRecord) -> PartitionImage:
    """A partition as its first record describes it."""
    replicas = tuple(record.replicas)
    return PartitionImage(
        replicas,
        tuple(record.isr),
        record.leader,
        record.leader_epoch,
        record.partition_epoch,
        # Records from before KIP-858 say nothing about directories.
        tuple(record.directories) or (DIRECTORY_MIGRATING,) * len(replicas),
        tuple(record.adding_replicas),
        tuple(record.removing_replicas),
        tuple(record.eligible_leader_replicas or ()),
        tuple(record.last_known_elr or ()),
        record.leader_recovery_state,
    )


def changed_partition(partition: PartitionImage, record: PartitionChangeRecord) -> PartitionImage:
    """A partition after a change; a leader in the record makes a new leader epoch."""

    def new(value: list[int] | None, old: tuple[int, ...]) -> tuple[int, ...]:
        return old if value is None else tuple(value)

    replicas = new(record.replicas, partition.replicas)
    directories = partition.directories
    if record.directories is not None:
        directories = tuple(record.directories)
    if len(directories) != len(replicas):
        known = dict(zip(partition.replicas, partition.directories, strict=False))
        directories = tuple([known.get(replica, DIRECTORY_UNASSIGNED) for replica in replicas])
    leads = record.leader != NO_LEADER_CHANGE
    recovery = record.leader_recovery_state
    return PartitionImage(
        replicas,
        new(record.isr, partition.isr),
        record.leader if leads else partition.leader,
        partition.leader_epoch + leads,
        partition.partition_epoch + 1,
        directories,
        new(record.adding_replicas, partition.adding_replicas),
        new(record.removing_replicas, partition.removing_replicas),
        new(record.eligible_leader_replicas, partition.elr),
        new(record.last_known_elr, partition.last_known_elr),
        partition.leader_recovery_state if recovery == NO_RECOVERY_CHANGE else recovery,
    )
