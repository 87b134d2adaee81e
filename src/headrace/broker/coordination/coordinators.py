"""All shards of one kind of coordinator on this node, found by the key they look after."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from headrace.base.clock import Clock
from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.coordination.loading import Loader
from headrace.broker.coordination.placement import partition_for
from headrace.broker.coordination.records_log import RecordCodec
from headrace.broker.coordination.shard import Perform, Shard, ShardState
from headrace.broker.coordination.turns import Turns
from headrace.broker.parked import Scheduler
from headrace.broker.partitions import Partitions
from headrace.metadata.changes import MetadataChanges
from headrace.metadata.image import MetadataImage
from headrace.records.codecs import Codec
from headrace.replication.partition import Partition

#: Keys whose shard is remembered: they come back with every commit.
_REMEMBERED = 4096
#: Longer ones are not: anybody may ask for thousands of them.
_LENGTH_MAX = 255
#: Asked for with every request, and looking into an Enum is slow.
_ACTIVE = ShardState.ACTIVE


class Coordinators:
    """The group coordinators, or the transaction coordinators, of this node."""

    def __init__(
        self,
        topic: str,
        make: Callable[[Partition], Any],
        codec: RecordCodec,
        image: Callable[[], MetadataImage],
        scheduler: Scheduler,
        clock: Clock,
        perform: Perform | None = None,
        compression: int = Codec.NONE,
    ) -> None:
        """`compression` is the codec of the batches that they write."""
        self.topic = topic
        self._make = make
        self._codec = codec
        self._image = image
        self._scheduler = scheduler
        self._clock = clock
        self._perform = perform
        self._compression = compression
        self._shards: dict[int, Shard] = {}
        self._by_key: dict[str, Shard] = {}
        #: In which their long jobs are done, such as reading their logs.
        self.turns = Turns(scheduler.call_soon)

    def __iter__(self) -> Iterator[Shard]:
        return iter(self._shards.values())

    @property
    def partition_count(self) -> int:
        """0 as long as the internal topic does not exist."""
        topic = self._image().topics_by_name.get(self.topic)
        return 0 if topic is None else len(topic.partitions)

    def partition_of(self, key: str) -> int | None:
        """The partition that looks after a key, wherever it is led; None without the topic."""
        topic = self._image().topics_by_name.get(self.topic)
        return None if topic is None else partition_for(key, len(topic.partitions))

    def shard_for(self, key: str) -> Shard:
        """The active shard for a key, or Kafka's reason why there is none here."""
        shard = self._by_key.get(key)
        if shard is not None and shard.state is _ACTIVE:
            return shard
        shard = self.shard_of(self.partition_of(key))
        if len(key) <= _LENGTH_MAX:
            if len(self._by_key) == _REMEMBERED:
                self._by_key.clear()
            self._by_key[key] = shard
        return shard

    def shard_of(self, index: int | None) -> Shard:
        """The active shard of a partition of the internal topic."""
        shard = None if index is None else self._shards.get(index)
        if shard is None:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        shard.require_active()
        return shard

    def active(self) -> list[Shard]:
        """Every shard that can answer; raises while one is still loading, as Kafka does."""
        for shard in self._shards.values():
            if shard.state is ShardState.LOADING:
                raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return [shard for shard in self._shards.values() if shard.state is _ACTIVE]

    def start(self, partitions: Partitions) -> None:
        """Lead whatever this node leads when it starts."""
        for partition in partitions.named(self.topic).values():
            if partition.is_leader:
                self.lead(partition)

    def metadata_changed(self, changes: MetadataChanges, partitions: Partitions) -> None:
        """Follow the leadership of the internal topic; comes after the partitions themselves."""
        for change in changes.topics.values():
            if change.topic.name == self.topic:
                self._by_key.clear()
                gone = change.after is None
                for index in range(len(change.topic.partitions)) if gone else change.partitions:
                    partition = partitions.get(self.topic, index)
                    if partition is not None and partition.is_leader:
                        self.lead(partition)
                    else:
                        self.resign(index)

    def close(self) -> None:
        """The node stops: whoever waits looks for another coordinator."""
        for index in list(self._shards):
            self.resign(index)

    def lead(self, partition: Partition) -> None:
        """This node leads the partition from now on: read its log, then serve."""
        old = self._shards.get(partition.index)
        if old is not None:
            if old.partition is partition:
                return
            old.close()
        self._by_key.clear()
        shard = Shard(
            self._make(partition),
            self._codec,
            partition,
            self._scheduler,
            self._clock,
            self._perform,
            self._compression,
            self.turns.add,
        )
        self._shards[partition.index] = shard
        Loader(shard, self.turns.add).start()

    def resign(self, index: int) -> None:
        """Somebody else leads it now, or it is gone."""
        self._by_key.clear()
        shard = self._shards.pop(index, None)
        if shard is not None:
            shard.close()
