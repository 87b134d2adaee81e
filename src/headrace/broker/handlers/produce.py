"""Produce: checks each batch's header, appends it, and answers by the acks that were asked for.

The common case runs straight through on the loop: header, checksum, write. A batch whose inside
must be seen (compacted topics, another compression type, deep validation) parks the request
while a helper process looks; the first batch of a transaction parks it until the coordinator has
answered. What comes then is in `broker.produce_appends`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial

from headrace.base.clock import Clock
from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.context import RequestContext
from headrace.broker.coordination.admission import Admission
from headrace.broker.known_produce import KnownProduce
from headrace.broker.known_requests import Learner
from headrace.broker.parked import Parked, Reply
from headrace.broker.partitions import Partitions
from headrace.broker.preparation import Preparation, Prepared, prepare
from headrace.broker.produce_appends import ACKS_ALL, ACKS_NONE, ProduceAppends
from headrace.broker.produced_batch import ProducedBatch
from headrace.broker.transactional_produce import TransactionalProduce
from headrace.metadata.controller.topic_names import INTERNAL_TOPICS
from headrace.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from headrace.records.batch import TRANSACTIONAL_FLAG
from headrace.records.codecs import Codec
from headrace.replication.partition import Partition

_ZSTD_SINCE = 7
#: What Kafka's own tools call themselves where they write to internal topics.
_ADMIN_CLIENT_ID = "__admin_client"
_TOPIC_IDS_SINCE = 13


_WRITE = Operation.WRITE
_TOPIC = ResourceType.TOPIC
#: A batch with no more records than this is looked into on the spot,
_FEW_RECORDS = 64
#: if it comes with no more bytes than this, together with the others of its request.
_FEW_BYTES = 16 * 1024

#: The last step, once nothing has to be waited for.
Append = Callable[[ProduceRequest, ProduceResponse, list[ProducedBatch], int], "Reply | Parked"]
#: Runs a preparation off the loop; the callback gets the outcome on the loop.
PrepareElsewhere = Callable[[Preparation, Callable[[Prepared], None]], None]


class ProduceHandler(Learner):
    """Serves API key 0."""

    def __init__(
        self,
        partitions: Partitions,
        appends: ProduceAppends,
        clock: Clock,
        prepare_elsewhere: PrepareElsewhere,
        admission: Admission,
    ) -> None:
        self._partitions = partitions
        self._appends = appends
        self._clock = clock
        self._prepare_elsewhere = prepare_elsewhere
        self._admission = admission

    def __call__(self, context: RequestContext, request: ProduceRequest) -> Reply | Parked:
        if request.acks not in (ACKS_ALL, ACKS_NONE, 1):
            raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS)
        now_ms = self._clock.wall_ms()
        batches: list[ProducedBatch] = []
        examined: list[ProducedBatch] = []
        transactional: list[ProducedBatch] = []
        response = ProduceResponse()
        for topic in request.topic_data:
            answer = TopicProduceResponse(name=topic.name, topic_id=topic.topic_id)
            response.responses.append(answer)
            name, partitions = self._find(context, topic)
            # Whether a topic exists is not told to those who may not write to it.
            may_write = not name or context.allows(_WRITE, _TOPIC, name)
            is_closed = name in INTERNAL_TOPICS and context.client_id != _ADMIN_CLIENT_ID
            for data in topic.partition_data:
                result = PartitionProduceResponse(index=data.index)
                answer.partition_responses.append(result)
                try:
                    if not may_write:
                        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
                    partition = partitions.get(data.index)
                    if partition is None:
                        raise self._missing(context, topic, data.index)
                    if is_closed:
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
                    if partition.log.examines_records:
                        examined.append(batch)
                    if header.attributes & TRANSACTIONAL_FLAG:
                        transactional.append(batch)
                except KafkaError as error:
                    self._appends.refuse(result, error, name, len(data.records or b""))
        append: Append = self._appends.append
        if transactional:
            in_transaction = TransactionalProduce(
                self._admission, context, request.transactional_id, transactional
            )
            append = partial(self._append_admitted, in_transaction)
        if examined:
            append = partial(self._examine, examined, append)
        return append(request, response, batches, now_ms)

    # Requests that are repeated

    def subject(self, request: ProduceRequest) -> Hashable | None:
        topics = request.topic_data
        if len(topics) != 1 or not topics[0].partition_data or request.acks not in (ACKS_ALL, 1):
            return None
        return topics[0].name or topics[0].topic_id, request.transactional_id

    def learn(
        self, context: RequestContext, request: ProduceRequest, start: bytes
    ) -> KnownProduce | None:
        topic = request.topic_data[0]
        name, siblings = self._find(context, topic)
        if name in INTERNAL_TOPICS:
            return None
        for data in topic.partition_data:
            partition = siblings.get(data.index)
            if partition is None or not partition.has_log or not partition.log.appends_at_once:
                return None
        return KnownProduce(context, request, start, name, siblings, self._appends, self._clock)

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

    def _examine(
        self,
        examined: list[ProducedBatch],
        append: Append,
        request: ProduceRequest,
        response: ProduceResponse,
        batches: list[ProducedBatch],
        now_ms: int,
    ) -> Reply | Parked:
        """Look into those batches that must be looked into, then append."""
        slow: list[tuple[ProducedBatch, Preparation]] = []
        room = _FEW_BYTES
        for batch in examined:
            job = batch.preparation(now_ms)
            header, size = batch.header, len(batch.records)
            # What is compressed may be of any size inside.
            if header.codec == 0 and header.record_count <= _FEW_RECORDS and size <= room:
                room -= size
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
                parked.complete_with(reply)

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
            reply = self._appends.append(request, response, batches, self._clock.wall_ms())
            parked.complete_with(reply)

        in_transaction.admit(admitted)
        return parked
