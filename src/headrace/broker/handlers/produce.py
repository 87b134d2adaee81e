"""Produce: checks each batch's header, appends it, and answers by the acks that were asked for.

The common case runs straight through on the loop: header, checksum, write. A batch whose inside
must be seen (compacted topics, another compression type, deep validation) parks the request
while a helper process looks; the first batch of a transaction parks it until the coordinator has
answered; a flush that the topic demands parks it until the disk has it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from headrace.base.clock import Clock
from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.config import BrokerConfig
from headrace.broker.context import RequestContext
from headrace.broker.coordination.admission import Admission
from headrace.broker.metrics import BrokerMetrics
from headrace.broker.parked import Close, Parked, Reply, Scheduler
from headrace.broker.partitions import Partitions
from headrace.broker.preparation import Preparation, Prepared, prepare
from headrace.broker.produced_batch import ProducedBatch
from headrace.broker.transactional_produce import TransactionalProduce
from headrace.broker.wakeups import Wakeups
from headrace.log.append import AppendOrigin
from headrace.log.flushing import Flush
from headrace.metadata.controller.topic_names import INTERNAL_TOPICS
from headrace.protocol.apis import ApiKey
from headrace.protocol.messages.produce import (
    LeaderIdAndEpoch,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from headrace.records.codecs import Codec
from headrace.replication.partition import Partition

ACKS_ALL = -1
ACKS_NONE = 0
_ZSTD_SINCE = 7
#: What Kafka's own tools call themselves where they write to internal topics.
_ADMIN_CLIENT_ID = "__admin_client"
_TOPIC_IDS_SINCE = 13


#: A batch with no more records than this is looked into on the spot.
_FEW_RECORDS = 64

#: The last step, once nothing has to be waited for.
Append = Callable[[ProduceRequest, ProduceResponse, list[ProducedBatch], int], "Reply | Parked"]
#: Runs a preparation off the loop; the callback gets the outcome on the loop.
PrepareElsewhere = Callable[[Preparation, Callable[[Prepared], None]], None]


class ProduceHandler:
    """Serves API key 0."""

    def __init__(
        self,
        partitions: Partitions,
        scheduler: Scheduler,
        clock: Clock,
        config: BrokerConfig,
        metrics: BrokerMetrics,
        prepare_elsewhere: PrepareElsewhere,
        admission: Admission,
        wakeups: Wakeups,
    ) -> None:
        self._wakeups = wakeups
        self._admission = admission
        self._prepare_elsewhere = prepare_elsewhere
        self._partitions = partitions
        self._scheduler = scheduler
        self._clock = clock
        self._config = config
        self._metrics = metrics

    def __call__(self, context: RequestContext, request: ProduceRequest) -> Reply | Parked:
        if request.acks not in (ACKS_ALL, ACKS_NONE, 1):
            raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS)
        now_ms = self._clock.wall_ms()
        batches: list[ProducedBatch] = []
        transactional: list[ProducedBatch] = []
        response = ProduceResponse()
        for topic in request.topic_data:
            answer = TopicProduceResponse(name=topic.name, topic_id=topic.topic_id)
            response.responses.append(answer)
            name, partitions = self._find(context, topic)
            # Whether a topic exists is not told to those who may not write to it.
            may_write = not name or context.allows(Operation.WRITE, ResourceType.TOPIC, name)
            for data in topic.partition_data:
                result = PartitionProduceResponse(index=data.index)
                answer.partition_responses.append(result)
                try:
                    if not may_write:
                        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
                    partition = partitions.get(data.index)
                    if partition is None:
                        raise self._missing(context, topic, data.index)
                    if name in INTERNAL_TOPICS and context.client_id != _ADMIN_CLIENT_ID:
                        raise KafkaError(
                            ErrorCode.INVALID_TOPIC_EXCEPTION,
                            f"Only coordinators write to {name}.",
                        )
                    partition.require_leader(-1)
                    if request.acks == ACKS_ALL:
                        partition.require_enough_replicas(partition.log.config.min_insync_replicas)
                    batch = ProducedBatch(partition, data.records, result)
                    header = batch.check_header(now_ms)
                    if context.api_version < _ZSTD_SINCE and header.codec == Codec.ZSTD:
                        raise KafkaError(
                            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
                            "Produce requests below version 7 may not contain zstd.",
                        )
                    batches.append(batch)
                    if header.is_transactional:
                        transactional.append(batch)
                except KafkaError as error:
                    self._refuse(result, error, name)
        if not transactional:
            return self._prepare(request, response, batches, now_ms, self._append)
        in_transaction = TransactionalProduce(
            self._admission, context, request.transactional_id, transactional
        )
        append = partial(self._append_admitted, in_transaction)
        return self._prepare(request, response, batches, now_ms, append)

    def _find(
        self, context: RequestContext, topic: TopicProduceData
    ) -> tuple[str, dict[int, Partition]]:
        if context.api_version >= _TOPIC_IDS_SINCE:
            partitions = self._partitions.identified(topic.topic_id)
            name = next(iter(partitions.values())).topic if partitions else ""
        else:
            name = topic.name
            partitions = self._partitions.named(name)
        return name, partitions

    def _missing(self, context: RequestContext, topic: TopicProduceData, index: int) -> KafkaError:
        if context.api_version >= _TOPIC_IDS_SINCE:
            return self._partitions.missing_by_id(topic.topic_id, index)
        return self._partitions.missing(topic.name, index)

    def _prepare(
        self,
        request: ProduceRequest,
        response: ProduceResponse,
        batches: list[ProducedBatch],
        now_ms: int,
        append: Append,
    ) -> Reply | Parked:
        """Look into those batches that must be looked into, then append."""
        deep = self._config.deep_validation
        slow: list[tuple[ProducedBatch, Preparation]] = []
        for batch in batches:
            job = batch.preparation(deep)
            if job is None:
                continue
            if batch.header.codec == 0 and batch.header.record_count <= _FEW_RECORDS:
                batch.prepared(prepare(job))
            else:
                slow.append((batch, job))
        if not slow:
            return append(request, response, batches, now_ms)
        parked = Parked()
        waiting = len(slow)

        def prepared(batch: ProducedBatch, outcome: Prepared) -> None:
            nonlocal waiting
            batch.prepared(outcome)
            waiting -= 1
            if waiting == 0:
                reply = append(request, response, batches, self._clock.wall_ms())
                _pass_on(reply, parked)

        for batch, job in slow:
            self._prepare_elsewhere(job, partial(prepared, batch))
        return parked

    def _append_admitted(
        self,
        in_transaction: TransactionalProduce,
        request: ProduceRequest,
        response: ProduceResponse,
        batches: list[ProducedBatch],
        now_ms: int,
    ) -> Reply | Parked:
        """Append what the coordinator lets into the transaction, as soon as it says so."""
        parked = Parked()

        def admitted() -> None:
            reply = self._append(request, response, batches, self._clock.wall_ms())
            _pass_on(reply, parked)

        in_transaction.admit(admitted)
        return parked

    def _append(
        self,
        request: ProduceRequest,
        response: ProduceResponse,
        batches: list[ProducedBatch],
        now_ms: int,
    ) -> Reply | Parked:
        unflushed: list[ProducedBatch] = []
        waiting: list[ProducedBatch] = []
        for batch in batches:
            partition, result = batch.partition, batch.result
            try:
                if batch.failure is not None:
                    raise batch.failure
                done = partition.append(batch.records, batch.header, now_ms, AppendOrigin.CLIENT)
            except KafkaError as error:
                self._refuse(result, error, partition.topic)
                continue
            result.base_offset = done.base_offset
            result.log_append_time_ms = done.append_time_ms
            result.log_start_offset = partition.log.log_start_offset
            topic = self._metrics.topic(partition.topic)
            topic.produces += 1
            if not done.duplicate:
                topic.bytes_in += len(batch.records)
                topic.messages_in += batch.header.record_count
            if done.flush_needed:
                unflushed.append(batch)
            if request.acks == ACKS_ALL and partition.high_watermark <= done.last_offset:
                batch.last_offset = done.last_offset
                waiting.append(batch)
        self._wakeups.run()
        if unflushed:
            return self._flush(request, response, unflushed, waiting)
        return self._answer_replicated(request, response, waiting)

    def _answer_replicated(
        self, request: ProduceRequest, response: ProduceResponse, waiting: list[ProducedBatch]
    ) -> Reply | Parked:
        waiting = [
            batch for batch in waiting if batch.partition.high_watermark <= batch.last_offset
        ]
        if waiting:
            return self._await_replication(request, response, waiting)
        return self._answer(request, response)

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
                self._refuse(batch.result, error, batch.partition.topic)

        def flush() -> None:
            for _, one in flushes:
                one.run()

        def flushed(_: object) -> None:
            for batch, one in flushes:
                try:
                    one.finish()
                except KafkaError as error:
                    self._refuse(batch.result, error, batch.partition.topic)
            _pass_on(self._answer_replicated(request, response, waiting), parked)

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
                parked.complete(self._answer(request, response))

        def timed_out() -> None:
            for number, batch in open_batches.items():
                batch.partition.forget_waiter(wakers[number])
                self._refuse(
                    batch.result, KafkaError(ErrorCode.REQUEST_TIMED_OUT), batch.partition.topic
                )
            parked.complete(self._answer(request, response))

        timer = self._scheduler.call_later(request.timeout_ms, timed_out)
        wakers = [partial(replicated, number) for number in range(len(waiting))]
        for batch, wake in zip(waiting, wakers, strict=True):
            batch.partition.replication_waiters.append((batch.last_offset + 1, wake))
        return parked

    def _refuse(self, result: PartitionProduceResponse, error: KafkaError, topic: str) -> None:
        result.error_code = int(error.code)
        result.error_message = error.message or None
        result.base_offset = -1
        result.log_append_time_ms = -1
        result.log_start_offset = -1
        self._metrics.topic_or_elsewhere(topic).failed_produces += 1
        self._metrics.count_error(ApiKey.PRODUCE, error.code)
        if error.code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
            partition = self._partitions.get(topic, result.index)
            if partition is not None:
                result.current_leader = LeaderIdAndEpoch(
                    leader_id=partition.leadership.leader,
                    leader_epoch=partition.leadership.leader_epoch,
                )

    def _answer(self, request: ProduceRequest, response: ProduceResponse) -> Reply:
        if request.acks != ACKS_NONE:
            return response
        # Nobody reads an answer to acks=0; a closed connection makes the client look again.
        for topic in response.responses:
            for result in topic.partition_responses:
                if result.error_code:
                    name = ErrorCode(result.error_code).name
                    return Close(f"produce with acks=0 failed: {name}")
        return None


def _pass_on(reply: Reply | Parked, parked: Parked) -> None:
    if isinstance(reply, Parked):
        reply.when_done(parked.complete)
    else:
        parked.complete(reply)
