"""Carries out the ends of transactions that coordinators have decided.

A decision is stored before this is asked, so there is no giving up: partitions that cannot take
their marker now are tried again, after a restart by the coordinator that loads the decision.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.coordination.partition_markers import Marker, PartitionMarkers
from headrace.broker.coordination.shard import Shard, ShardState
from headrace.broker.parked import Scheduler
from headrace.metadata.image import MetadataImage
from headrace.transactions.effects import WriteMarkers
from headrace.transactions.transaction import TopicPartition

logger = logging.getLogger(__name__)

_RETRY_MS_MIN = 20
_RETRY_MS_MAX = 1_000

#: The partition has seen a newer epoch of the producer or of its coordinator, so nothing of this
#: transaction can be open there any more.
_ENDED_ALREADY = frozenset(
    {ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED}
)


class MarkerWriter:
    """Performs the effect `WriteMarkers` for the shards of transaction coordinators."""

    def __init__(
        self,
        markers: PartitionMarkers,
        image: Callable[[], MetadataImage],
        scheduler: Scheduler,
    ) -> None:
        self._markers = markers
        self._image = image
        self._scheduler = scheduler

    def perform(self, shard: Shard, effect: Any) -> None:
        if isinstance(effect, WriteMarkers):
            _Round(self, shard, effect, list(effect.partitions), _RETRY_MS_MIN).start()
        else:
            raise TypeError(f"{type(effect).__name__} is no effect of transactions")

    def write(
        self, work: WriteMarkers, at: TopicPartition, done: Callable[[KafkaError | None], None]
    ) -> None:
        if self._image().partition(at.topic, at.partition) is None:
            done(None)  # deleted, and its records with it
            return
        marker = Marker(
            work.producer_id,
            work.producer_epoch,
            work.committed,
            work.coordinator_epoch,
            work.transaction_version,
        )
        self._markers.write(at.topic, at.partition, marker, done)

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> None:
        self._scheduler.call_later(delay_ms, callback)


class _Round:
    """One attempt at the partitions that have no marker yet."""

    def __init__(
        self,
        writer: MarkerWriter,
        shard: Shard,
        work: WriteMarkers,
        partitions: list[TopicPartition],
        retry_ms: int,
    ) -> None:
        self._writer = writer
        self._shard = shard
        self._work = work
        self._partitions = partitions
        self._retry_ms = retry_ms
        self._failed: list[TopicPartition] = []
        # One more than there are partitions, so that nothing ends before all have been asked.
        self._waiting = len(partitions) + 1

    def start(self) -> None:
        if self._shard.state is not ShardState.ACTIVE:
            return  # whoever leads the partition now finds the decision in its log
        for partition in self._partitions:
            self._writer.write(self._work, partition, partial(self._written, partition))
        self._count_down()

    def _written(self, partition: TopicPartition, error: KafkaError | None) -> None:
        if error is not None:
            if error.code in _ENDED_ALREADY:
                logger.warning(
                    "%s-%d refuses the marker of producer %d: %s",
                    partition.topic,
                    partition.partition,
                    self._work.producer_id,
                    error.message,
                )
            else:
                self._failed.append(partition)
        self._count_down()

    def _count_down(self) -> None:
        self._waiting -= 1
        if self._waiting:
            return
        if self._failed:
            again = _Round(
                self._writer,
                self._shard,
                self._work,
                self._failed,
                min(self._retry_ms * 2, _RETRY_MS_MAX),
            )
            self._writer.call_later(self._retry_ms, again.start)
            return
        work, coordinator = self._work, self._shard.coordinator
        self._shard.post(lambda now_ms: coordinator.markers_written(work, now_ms))
