"""The committed offsets of one coordinator, and those of transactions that are still open.

Everything here is durable state: it changes when a committed record or a transaction marker is
applied, and at no other time.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import NamedTuple

from headrace.groups.records import OffsetCommitKey, OffsetCommitValue

NO_PRODUCER_ID = -1


class CommittedOffset(NamedTuple):
    """One offset as its record has it."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    #: -1 unless an old client gave its own retention.
    expire_timestamp_ms: int
    topic_id: bytes
    #: Which of two came later in the log.
    order: int


PartitionOffsets = dict[int, CommittedOffset]
TopicOffsets = dict[str, PartitionOffsets]
#: Group, topic and partition of an offset.
OffsetPlace = tuple[str, str, int]


class OffsetStore:
    """Offsets by group, topic and partition."""

    def __init__(self) -> None:
        self._committed: dict[str, TopicOffsets] = {}
        #: What producers have added to their open transactions.
        self._pending: dict[int, dict[OffsetPlace, CommittedOffset]] = {}
        #: The producers whose open transactions touch an offset.
        self._open: dict[str, dict[tuple[str, int], set[int]]] = {}
        self._order = 0
        #: How many offsets are committed.
        self.count = 0

    def get(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        topics = self._committed.get(group_id)
        partitions = None if topics is None else topics.get(topic)
        return None if partitions is None else partitions.get(partition)

    def of_group(self, group_id: str) -> TopicOffsets:
        """All offsets of a group; to be read only."""
        return self._committed.get(group_id, {})

    @property
    def group_count(self) -> int:
        """How many groups have committed offsets."""
        return len(self._committed)

    def of_topics(self, names: Set[str]) -> Iterator[list[tuple[OffsetPlace, CommittedOffset]]]:
        """What there is for these topics, group by group, and then what is pending.

        An offset that is both committed and pending comes twice.
        """
        for group_id, topics in self._committed.items():
            yield [
                ((group_id, topic, partition), committed)
                for topic in topics.keys() & names
                for partition, committed in topics[topic].items()
            ]
        for pending in self._pending.values():
            yield [(place, offset) for place, offset in pending.items() if place[1] in names]

    def is_pending(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether an open transaction may still change the offset."""
        places = self._open.get(group_id)
        return places is not None and (topic, partition) in places

    def pending_places(self, group_id: str) -> list[tuple[str, int]]:
        """The topics and partitions of a group that open transactions touch."""
        return list(self._open.get(group_id, ()))

    def apply(
        self, key: OffsetCommitKey, value: OffsetCommitValue | None, producer_id: int
    ) -> None:
        """A record: an offset, its deletion, or a part of a transaction."""
        group_id, topic, partition = key.group, key.topic, key.partition
        if value is None:
            self._remove((group_id, topic, partition))
            return
        self._order += 1
        committed = CommittedOffset(
            value.offset,
            value.leader_epoch,
            value.metadata,
            value.commit_timestamp,
            value.expire_timestamp,
            value.topic_id,
            self._order,
        )
        if producer_id == NO_PRODUCER_ID:
            self._put(group_id, topic, partition, committed)
        else:
            place = (group_id, topic, partition)
            self._pending.setdefault(producer_id, {})[place] = committed
            places = self._open.setdefault(group_id, {})
            places.setdefault((topic, partition), set()).add(producer_id)

    def apply_marker(self, producer_id: int, committed: bool) -> None:
        """The producer's transaction ended."""
        for place, offset in self._pending.pop(producer_id, {}).items():
            self._close(place, producer_id)
            if not committed:
                continue
            known = self.get(*place)
            # Whoever committed later in the log stays, whenever the transaction ended.
            if known is None or offset.order > known.order:
                self._put(*place, offset)

    def _put(self, group_id: str, topic: str, partition: int, committed: CommittedOffset) -> None:
        try:
            partitions = self._committed[group_id][topic]
        except KeyError:
            partitions = self._committed.setdefault(group_id, {}).setdefault(topic, {})
        if partition not in partitions:
            self.count += 1
        partitions[partition] = committed

    def _remove(self, place: OffsetPlace) -> None:
        group_id, topic, partition = place
        topics = self._committed.get(group_id)
        if topics is not None and topic in topics:
            if topics[topic].pop(partition, None) is not None:
                self.count -= 1
            if not topics[topic]:
                del topics[topic]
            if not topics:
                del self._committed[group_id]
        for producer_id in tuple(self._open.get(group_id, {}).get((topic, partition), ())):
            self._close(place, producer_id)
            self._pending[producer_id].pop(place, None)

    def _close(self, place: OffsetPlace, producer_id: int) -> None:
        group_id, topic, partition = place
        places = self._open.get(group_id, {})
        producers = places.get((topic, partition), set())
        producers.discard(producer_id)
        if not producers:
            places.pop((topic, partition), None)
            if not places:
                self._open.pop(group_id, None)
