"""Writes the end of a transaction into one partition that this node leads."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from headrace.base.clock import Clock
from headrace.base.errors import ErrorCode, KafkaError
from headrace.base.outcome import EndTransaction
from headrace.broker.coordination.coordinators import Coordinators
from headrace.broker.coordination.internal_topics import OFFSETS_TOPIC
from headrace.broker.parked import Scheduler
from headrace.broker.partitions import Partitions
from headrace.log.append import AppendOrigin
from headrace.records.batch import BatchHeader
from headrace.records.control import EndTxnMarker, end_txn_batch
from headrace.replication.partition import Partition

#: Gets None when the marker is committed, or why it is not.
Done = Callable[[KafkaError | None], None]

#: What a group coordinator that is not ready means to somebody who writes to its partition.
_NOT_READY = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
    }
)


class Marker(NamedTuple):
    """A producer's transaction is over."""

    producer_id: int
    producer_epoch: int
    committed: bool
    coordinator_epoch: int
    transaction_version: int


class PartitionMarkers:
    """Appends markers; in the partitions of groups their coordinators do it."""

    def __init__(
        self,
        partitions: Partitions,
        groups: Coordinators,
        scheduler: Scheduler,
        clock: Clock,
        request_timeout_ms: int,
    ) -> None:
        self._partitions = partitions
        self._groups = groups
        self._scheduler = scheduler
        self._clock = clock
        self._request_timeout_ms = request_timeout_ms

    def write(self, topic: str, index: int, marker: Marker, done: Done) -> None:
        """`done` is called once, perhaps before this returns."""
        try:
            partition = self._partitions.require(topic, index)
            partition.require_leader(-1)
            if topic == OFFSETS_TOPIC:
                self._write_by_coordinator(index, marker, done)
            else:
                self._append(partition, marker, done)
        except KafkaError as error:
            done(_for_writer(error))

    def _write_by_coordinator(self, index: int, marker: Marker, done: Done) -> None:
        """Among the offsets, whose coordinator has to learn that they count from now on."""

        def written(reply: KafkaError | None) -> None:
            done(None if reply is None else _for_writer(reply))

        self._groups.shard_of(index).end_transaction(
            marker.producer_id,
            marker.producer_epoch,
            EndTransaction(marker.committed, marker.coordinator_epoch, marker.transaction_version),
            written,
        )

    def _append(self, partition: Partition, marker: Marker, done: Done) -> None:
        log = partition.log
        partition.require_enough_replicas(log.config.min_insync_replicas)
        now_ms = self._clock.wall_ms()
        batch = end_txn_batch(
            EndTxnMarker(marker.committed, marker.coordinator_epoch),
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            timestamp=now_ms,
        )
        result = partition.append(
            memoryview(batch),
            BatchHeader(batch, 0),
            now_ms,
            AppendOrigin.COORDINATOR,
            marker.transaction_version,
        )
        if partition.high_watermark <= result.last_offset:
            self._await_replicas(partition, result.last_offset + 1, done)
        elif result.flush_needed:
            self._flush(partition, done)
        else:
            done(None)

    def _flush(self, partition: Partition, done: Done) -> None:
        """The topic wants its records on the disk before anybody relies on them."""
        flush = partition.log.begin_flush()

        def flushed(_: object) -> None:
            try:
                flush.finish()
            except KafkaError as error:
                done(error)
            else:
                done(None)

        self._scheduler.run_in_thread(flush.run, flushed)

    def _await_replicas(self, partition: Partition, offset: int, done: Done) -> None:
        def replicated() -> None:
            timer.cancel()
            done(None)

        def timed_out() -> None:
            partition.forget_waiter(replicated)
            done(KafkaError(ErrorCode.REQUEST_TIMED_OUT))

        timer = self._scheduler.call_later(self._request_timeout_ms, timed_out)
        partition.replication_waiters.append((offset, replicated))


def _for_writer(error: KafkaError) -> KafkaError:
    if error.code in _NOT_READY:
        return KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, error.message)
    return error
