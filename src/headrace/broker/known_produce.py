"""A Produce request for one topic that a client repeats with other records."""

from __future__ import annotations

from struct import Struct
from typing import Final

from headrace.base.clock import Clock
from headrace.base.errors import KafkaError
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.context import RequestContext
from headrace.broker.coordination.transactions import may_write
from headrace.broker.known_requests import (
    NOT_NOW,
    OFFSET_MARKS,
    Declined,
    KnownRequest,
    pieces,
)
from headrace.broker.produce_appends import ACKS_ALL, Checked, ProduceAppends
from headrace.broker.produced_batch import check_batch_for
from headrace.protocol.compiler import encode
from headrace.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from headrace.protocol.wire import read_uvarint, write_uvarint
from headrace.records.batch import LOG_OVERHEAD, TRANSACTIONAL_FLAG
from headrace.replication.partition import Partition

#: What the answer says of a partition: its index, no error, base offset, append time and log start.
_RESULT = Struct(">ihqqq")
_MARK = (0x7A5B, 0, *OFFSET_MARKS)
_INDEX = Struct(">i")
#: How a compact array of one element begins; that of an empty one has the same size.
_ONE: Final = 2
_COUNT_SIZE = 1
_NO_TAGS = 0
_WRITE: Final = Operation.WRITE
_TOPIC: Final = ResourceType.TOPIC
#: With the time at which they were checked.
_Batches = tuple[list[Checked], int]


class KnownProduce(KnownRequest):
    """More batches for a topic, of which everything but partitions and records is known."""

    __slots__ = (
        "_answer_end",
        "_answer_start",
        "_appends",
        "_clock",
        "_context",
        "_ending",
        "_needs_all",
        "_one_end",
        "_one_start",
        "_result_end",
        "_siblings",
        "_topic",
        "_transactional_id",
    )

    def __init__(
        self,
        context: RequestContext,
        request: ProduceRequest,
        start: bytes,
        topic: str,
        siblings: dict[int, Partition],
        appends: ProduceAppends,
        clock: Clock,
    ) -> None:
        version = context.api_version
        request.topic_data[0].partition_data = []
        nothing = encode(request, version)
        # What is left: no partitions, the tags of the topic and those of the request.
        ending_size = _COUNT_SIZE + 2
        self._ending = nothing[-ending_size + _COUNT_SIZE :]
        super().__init__(version, start + nothing[:-ending_size])
        self._context = context
        self._needs_all = request.acks == ACKS_ALL
        self._topic = topic
        self._transactional_id = request.transactional_id
        self._siblings = siblings
        self._appends = appends
        self._clock = clock
        self._answer_start, self._result_end, self._answer_end = _answer_pieces(request, version)
        self._one_start = self._answer_start + write_uvarint(_ONE)
        self._one_end = self._result_end + self._answer_end

    def is_repeated_by(self, frame: memoryview) -> bool:
        return self.bears_signature(frame) and frame[-len(self._ending) :] == self._ending

    def check(self, frame: memoryview) -> _Batches | Declined | None:
        context = self._context
        if not context.allows(_WRITE, _TOPIC, self._topic):
            return None
        if self._transactional_id is not None and not may_write(context, self._transactional_id):
            return None
        now_ms = self._clock.wall_ms()
        batches: list[Checked] = []
        count, position = read_uvarint(frame, self.differs_at)
        for _ in range(count - 1):  # a compact count is one too large
            (index,) = _INDEX.unpack_from(frame, position)
            length, start = read_uvarint(frame, position + 4)
            position = start + length  # a compact length is, too: there is one byte for tags
            partition = self._siblings.get(index)
            if length <= 1 or partition is None or frame[position - 1] != _NO_TAGS:
                return None
            batch = self._check(partition, frame[start : position - 1], now_ms)
            if batch is None:
                return None
            batches.append(batch)
        if frame[position:] != self._ending or not batches:
            return None
        if self._transactional_id is not None and not _are_in_transaction(batches):
            return NOT_NOW
        return batches, now_ms

    def _check(self, partition: Partition, records: memoryview, now_ms: int) -> Checked | None:
        """A batch that can be appended and answered at once."""
        if (
            not partition.is_leader
            or not partition.log.appends_at_once
            or (self._needs_all and len(partition.leadership.replicas) > 1)
        ):
            return None
        header = check_batch_for(partition, records, now_ms)
        if header.batch_length + LOG_OVERHEAD != len(records):
            return None
        if header.attributes & TRANSACTIONAL_FLAG and self._transactional_id is None:
            return None
        return partition, records, header

    def serve(self, checked: _Batches) -> bytes:
        batches, now_ms = checked
        if len(batches) == 1:
            return self._append_one(batches[0], now_ms)
        return self._append(batches, now_ms)

    def _append_one(self, batch: Checked, now_ms: int) -> bytes:
        """As most requests are where somebody waits for each of them."""
        partition, records, _ = batch
        try:
            done = self._appends.append_checked(batch, now_ms)
        except KafkaError as error:
            refused = self._refused(partition, error, len(records))
            return b"".join((self._one_start, refused, self._answer_end))
        log_start = partition.log.log_start_offset
        offsets = done.base_offset, done.append_time_ms, log_start
        return self._one_start + _RESULT.pack(partition.index, 0, *offsets) + self._one_end

    def _append(self, batches: list[Checked], now_ms: int) -> bytes:
        results = [self._answer_start, write_uvarint(len(batches) + 1)]
        appended = self._appends.append_all_checked(batches, now_ms)
        for (partition, records, _), done in zip(batches, appended, strict=True):
            if isinstance(done, KafkaError):
                results.append(self._refused(partition, done, len(records)))
                continue
            results.append(
                _RESULT.pack(
                    partition.index,
                    0,
                    done.base_offset,
                    done.append_time_ms,
                    partition.log.log_start_offset,
                )
            )
            results.append(self._result_end)
        results.append(self._answer_end)
        return b"".join(results)

    def _refused(self, partition: Partition, error: KafkaError, size: int) -> bytes:
        """The bytes of a result that is not as it should be."""
        result = PartitionProduceResponse(index=partition.index)
        self._appends.refuse(result, error, partition.topic, size)
        topic = TopicProduceResponse(
            name=self._topic, topic_id=partition.topic_id, partition_responses=[result]
        )
        answer = encode(ProduceResponse(responses=[topic]), self.version)
        return answer[len(self._answer_start) + _COUNT_SIZE : -len(self._answer_end)]


def _are_in_transaction(batches: list[Checked]) -> bool:
    """Whether the transaction that they belong to has records in all their partitions already.

    Otherwise its coordinator has to be asked first.
    """
    producers = set()
    for partition, _, header in batches:
        producer_id, epoch = header.producer_id, header.producer_epoch
        if header.attributes & TRANSACTIONAL_FLAG:
            producers.add((producer_id, epoch))
            entry = partition.log.producers.get(producer_id)
            if entry is None or not entry.is_in_transaction(epoch):
                return False
    return len(producers) <= 1


def _answer_pieces(request: ProduceRequest, version: int) -> tuple[bytes, bytes, bytes]:
    """What stands before all results, behind each of them, and behind all of them."""
    index, _, base_offset, append_time, log_start = _MARK
    result = PartitionProduceResponse(
        index=index,
        base_offset=base_offset,
        log_append_time_ms=append_time,
        log_start_offset=log_start,
    )
    topic = request.topic_data[0]
    answer = TopicProduceResponse(
        name=topic.name, topic_id=topic.topic_id, partition_responses=[result, result]
    )
    mark = _RESULT.pack(*_MARK)
    start, result_end, end = pieces(ProduceResponse(responses=[answer]), version, mark, mark)
    return start[:-_COUNT_SIZE], result_end, end[len(result_end) :]
