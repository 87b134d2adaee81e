"""Carries out the ends of transactions that coordinators have decided.

A decision is stored before this is asked, so there is no giving up: partitions that cannot take
their marker now are tried again, after a restart by the coordinator that loads the decision.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
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
#: Markers that are written in one turn of the loop, of all transactions: each is an append, and the
#: last one of a transaction brings another.
_MARKERS_AT_ONCE = 50

#: The partition has seen a newer epoch of the producer or of its coordinator, so nothing of this
#: transaction can be open there any more.
_ENDED_ALREADY = frozenset(
    {ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED}
)


class MarkerWriter:
    """Performs the effect `WriteMarkers` for the shards of transaction coordinators.

    The markers of one transaction after the other are written at once, as many as a turn of the
    loop has room for; what is more than that takes turns, a marker of each transaction at a time.
    """

    def __init__(
        self,
        markers: PartitionMarkers,
        image: Callable[[], MetadataImage],
        scheduler: Scheduler,
    ) -> None:
        self._markers = markers
        self._image = image
        self._scheduler = scheduler
        self._rounds: deque[_Round] = deque()
        self._room = _MARKERS_AT_ONCE
        self._is_called = False

    def perform(self, shard: Shard, effect: Any) -> None:
        if isinstance(effect, WriteMarkers):
            self.add(_Round(self, shard, effect, effect.partitions, _RETRY_MS_MIN))
        else:
            raise TypeError(f"{type(effect).__name__} is no effect of transactions")

    def add(self, one: _Round) -> None:
        self._rounds.append(one)
        self._write_some()

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

    def _write_some(self) -> None:
        if not self._is_called:
            self._is_called = True
            self._scheduler.call_soon(self._next_turn)
        while self._rounds and self._room:
            self._room -= 1
            one = self._rounds.popleft()
            if one.write_next():
                self._rounds.append(one)

    def _next_turn(self) -> None:
        self._is_called = False
        self._room = _MARKERS_AT_ONCE
        if self._rounds:
            self._write_some()


class _Round:
    """One attempt at the partitions that have no marker yet."""

    def __init__(
        self,
        writer: MarkerWriter,
        shard: Shard,
        work: WriteMarkers,
        partitions: Sequence[TopicPartition],
        retry_ms: int,
    ) -> None:
        self._writer = writer
        self._shard = shard
        self._work = work
        self._partitions = partitions
        self._retry_ms = retry_ms
        self._next = 0
        self._failed: list[TopicPartition] = []
        # One more than there are partitions, so that nothing ends before all have been asked.
        self._waiting = len(partitions) + 1

    def write_next(self) -> bool:
        """Write the next marker; True if there are more."""
        if self._shard.state is not ShardState.ACTIVE:
            return False  # whoever leads the partition now finds the decision in its log
        if self._next < len(self._partitions):
            partition = self._partitions[self._next]
            self._next += 1
            self._writer.write(self._work, partition, partial(self._written, partition))
        if self._next < len(self._partitions):
            return True
        self._count_down()
        return False

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
            self._writer.call_later(self._retry_ms, partial(self._writer.add, again))
            return
        work, coordinator = self._work, self._shard.coordinator
        self._shard.post(lambda now_ms: coordinator.markers_written(work, now_ms))
