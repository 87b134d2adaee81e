"""The last steps of a Produce request: append, wake readers, flush, wait for replicas, answer.

The common case runs straight through on the loop. A flush that the topic demands parks the request
until the disk has its records; `acks=all` parks it until the in-sync replicas have them.
"""

from __future__ import annotations

from functools import partial

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.metrics import BrokerMetrics
from headrace.broker.parked import Close, Parked, Reply, Scheduler
from headrace.broker.partitions import Partitions
from headrace.broker.produced_batch import ProducedBatch
from headrace.broker.wakeups import Wakeups
from headrace.log.append import AppendOrigin, AppendResult
from headrace.log.flushing import Flush
from headrace.protocol.apis import ApiKey
from headrace.protocol.messages.produce import (
    LeaderIdAndEpoch,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
)
from headrace.records.batch import BatchHeader, WrongChecksumError
from headrace.replication.partition import Partition

ACKS_ALL = -1
ACKS_NONE = 0
_CLIENT = AppendOrigin.CLIENT
#: A batch whose header is sound, and where it is to go.
Checked = tuple[Partition, memoryview, BatchHeader]


class ProduceAppends:
    """Appends batches that nothing more has to be waited for."""

    def __init__(
        self,
        partitions: Partitions,
        scheduler: Scheduler,
        metrics: BrokerMetrics,
        wakeups: Wakeups,
    ) -> None:
        self._partitions = partitions
        self._scheduler = scheduler
        self._metrics = metrics
        self._wakeups = wakeups

    def append(
        self,
        request: ProduceRequest,
        response: ProduceResponse,
        batches: list[ProducedBatch],
        now_ms: int,
    ) -> Reply | Parked:
        """Append what was not refused, and answer as soon as the acks allow it."""
        unflushed: list[ProducedBatch] = []
        waiting: list[ProducedBatch] = []
        self._wakeups.hold()
        try:
            for batch in batches:
                self._append_one(batch, request.acks, now_ms, unflushed, waiting)
        finally:
            self._wakeups.run()
        if unflushed:
            return self._flush(request, response, unflushed, waiting)
        return self._answer_replicated(request, response, waiting)

    def _append_one(
        self,
        batch: ProducedBatch,
        acks: int,
        now_ms: int,
        unflushed: list[ProducedBatch],
        waiting: list[ProducedBatch],
    ) -> None:
        partition, result = batch.partition, batch.result
        try:
            if batch.failure is not None:
                raise batch.failure
            done = partition.append(batch.records, batch.header, now_ms, _CLIENT)
        except KafkaError as error:
            self.refuse(result, error, partition.topic, len(batch.records))
            return
        result.base_offset = done.base_offset
        result.log_append_time_ms = done.append_time_ms
        result.log_start_offset = partition.log.log_start_offset
        self._count(partition, batch.records, batch.header, done)
        if done.flush_needed:
            unflushed.append(batch)
        if acks == ACKS_ALL and partition.high_watermark <= done.last_offset:
            batch.last_offset = done.last_offset
            waiting.append(batch)

    def append_checked(self, batch: Checked, now_ms: int) -> AppendResult:
        """Append a request's only batch, which need not wait for a disk or for replicas."""
        partition, records, header = batch
        self._wakeups.hold()
        try:
            done = partition.append(records, header, now_ms, _CLIENT)
            if not done.duplicate:
                partition.newest = (done.base_offset, done.last_offset + 1, records)
        finally:
            self._wakeups.run()
            partition.newest = None
        self._count(partition, records, header, done)
        return done

    def append_all_checked(
        self, batches: list[Checked], now_ms: int
    ) -> list[AppendResult | KafkaError]:
        """Append several such batches; readers then find them in their files."""
        outcomes: list[AppendResult | KafkaError] = []
        self._wakeups.hold()
        try:
            for partition, records, header in batches:
                try:
                    outcomes.append(partition.append(records, header, now_ms, _CLIENT))
                except KafkaError as error:
                    outcomes.append(error)
        finally:
            self._wakeups.run()
        for (partition, records, header), done in zip(batches, outcomes, strict=True):
            if not isinstance(done, KafkaError):
                self._count(partition, records, header, done)
        return outcomes

    def _count(
        self, partition: Partition, records: memoryview, header: BatchHeader, done: AppendResult
    ) -> None:
        topic = self._metrics.topic(partition.topic)
        topic.produces += 1
        if not done.duplicate:
            topic.bytes_in += len(records)
            topic.messages_in += header.record_count

    def refuse(
        self, result: PartitionProduceResponse, error: KafkaError, topic: str, size: int = 0
    ) -> None:
        """Say what is wrong with one partition's records, of `size` bytes, and count it."""
        result.error_code = int(error.code)
        result.error_message = error.message or None
        result.base_offset = -1
        result.log_append_time_ms = -1
        result.log_start_offset = -1
        counted = self._metrics.topic_or_elsewhere(topic)
        counted.failed_produces += 1
        if error.code == ErrorCode.MESSAGE_TOO_LARGE:
            counted.bytes_rejected += size
        elif isinstance(error, WrongChecksumError):
            self._metrics.wrong_checksums += 1
        if error.code == ErrorCode.INVALID_RECORD:
            self._metrics.keyless_records += len(result.record_errors)
        self._metrics.count_error(ApiKey.PRODUCE, error.code)
        if error.code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
            partition = self._partitions.get(topic, result.index)
            if partition is not None:
                result.current_leader = LeaderIdAndEpoch(
                    leader_id=partition.leadership.leader,
                    leader_epoch=partition.leadership.leader_epoch,
                )

    def _answer_replicated(
        self, request: ProduceRequest, response: ProduceResponse, waiting: list[ProducedBatch]
    ) -> Reply | Parked:
        if waiting:
            waiting = [
                batch for batch in waiting if batch.partition.high_watermark <= batch.last_offset
            ]
        if waiting:
            return self._await_replication(request, response, waiting)
        return _answer(request, response)

    def _flush(
        self,
        request: ProduceRequest,
        response: ProduceResponse,
        unflushed: list[ProducedBatch],
        waiting: list[ProducedBatch],
    ) -> Parked:
        """`flush.messages` is reached: no answer before the disk has the records."""
        parked = Parked()
        flushes: list[tuple[ProducedBatch, Flush]] = []
        for batch in unflushed:
            try:
                flushes.append((batch, batch.partition.log.begin_flush()))
            except KafkaError as error:
                self.refuse(batch.result, error, batch.partition.topic)

        def flush() -> None:
            for _, one in flushes:
                one.run()

        def flushed(_: object) -> None:
            for batch, one in flushes:
                try:
                    one.finish()
                except KafkaError as error:
                    self.refuse(batch.result, error, batch.partition.topic)
            parked.complete_with(self._answer_replicated(request, response, waiting))

        self._scheduler.run_in_thread(flush, flushed)
        return parked

    def _await_replication(
        self, request: ProduceRequest, response: ProduceResponse, waiting: list[ProducedBatch]
    ) -> Parked:
        """acks=all: answer when the slowest in-sync replica has every batch, or time is up."""
        parked = Parked()
        open_batches = dict(enumerate(waiting))

        def replicated(number: int) -> None:
            open_batches.pop(number, None)
            if not open_batches:
                timer.cancel()
                parked.complete(_answer(request, response))

        def timed_out() -> None:
            for number, batch in open_batches.items():
                batch.partition.forget_waiter(wakers[number])
                self._metrics.expired_produces += 1
                self.refuse(
                    batch.result, KafkaError(ErrorCode.REQUEST_TIMED_OUT), batch.partition.topic
                )
            parked.complete(_answer(request, response))

        timer = self._scheduler.call_later(request.timeout_ms, timed_out)
        wakers = [partial(replicated, number) for number in range(len(waiting))]
        for batch, wake in zip(waiting, wakers, strict=True):
            batch.partition.replication_waiters.append((batch.last_offset + 1, wake))
        return parked


def _answer(request: ProduceRequest, response: ProduceResponse) -> Reply:
    if request.acks != ACKS_NONE:
        return response
    # Nobody reads an answer to acks=0; a closed connection makes the client look again.
    for topic in response.responses:
        for result in topic.partition_responses:
            if result.error_code:
                name = ErrorCode(result.error_code).name
                return Close(f"produce with acks=0 failed: {name}")
    return None
