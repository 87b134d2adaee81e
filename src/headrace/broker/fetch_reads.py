"""What one Fetch request reads: every partition it names, as it lies on disk, within its limits."""

from __future__ import annotations

from typing import cast

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.context import RequestContext
from headrace.broker.fetch_sessions import FetchPosition
from headrace.broker.metrics import BrokerMetrics
from headrace.broker.partitions import Partitions
from headrace.protocol.apis import ApiKey
from headrace.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchRequest,
    LeaderIdAndEpoch,
    PartitionData,
)
from headrace.protocol.schema import RecordBytes
from headrace.replication.partition import READ_COMMITTED, Partition

_OFFSET_INVALID = -1
_READ = Operation.READ
_TOPIC = ResourceType.TOPIC


class PartitionReader:
    """Reads partitions for fetches, and knows the error for those it cannot read."""

    def __init__(self, partitions: Partitions, metrics: BrokerMetrics) -> None:
        self._partitions = partitions
        self._metrics = metrics

    def find(self, position: FetchPosition) -> Partition:
        """The partition of a position, or Kafka's error for an unknown one."""
        topic = position.topic
        partition = self.siblings(topic).get(position.index)
        if partition is None:
            if isinstance(topic, str):
                raise self._partitions.missing(topic, position.index)
            raise self._partitions.missing_by_id(topic, position.index)
        return partition

    def siblings(self, topic: str | bytes) -> dict[int, Partition]:
        """All partitions of a topic that are here, by its name or its id."""
        if isinstance(topic, str):
            return self._partitions.named(topic)
        return self._partitions.identified(topic)

    def read(
        self,
        context: RequestContext,
        request: FetchRequest,
        position: FetchPosition,
        left: int,
        *,
        is_first: bool,
    ) -> PartitionData:
        """At most `left` bytes from a position, or what is wrong with it."""
        try:
            return self._read(context, request, position, left, is_first=is_first)
        except KafkaError as error:
            return self._refused(context, position, error)

    def find_exhausted(
        self, context: RequestContext, request: FetchRequest, position: FetchPosition
    ) -> Partition | None:
        """The partition if all is well and there is nothing more to read in it, else None."""
        try:
            partition = self._open(context, request, position)
        except KafkaError:
            return None
        is_exhausted = (
            partition.has_log
            and position.last_fetched_epoch < 0
            and position.fetch_offset == partition.readable_end(request.isolation_level)
        )
        return partition if is_exhausted else None

    def _open(
        self, context: RequestContext, request: FetchRequest, position: FetchPosition
    ) -> Partition:
        """The partition of a position, if this client may read it from this node."""
        partition = self.find(position)
        if not context.allows(_READ, _TOPIC, partition.topic):
            raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        if request.replica_id >= 0 or request.replica_state.replica_id >= 0:
            # No other node replicates from this one yet: nobody may pose as a follower.
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        partition.require_leader(position.current_leader_epoch)
        return partition

    def _read(
        self,
        context: RequestContext,
        request: FetchRequest,
        position: FetchPosition,
        left: int,
        *,
        is_first: bool,
    ) -> PartitionData:
        partition = self._open(context, request, position)
        log = partition.log
        data = PartitionData(
            partition_index=position.index,
            high_watermark=partition.high_watermark,
            last_stable_offset=partition.last_stable_offset,
            log_start_offset=log.log_start_offset,
            aborted_transactions=None,
            records=b"",
        )
        offset = position.fetch_offset
        if position.last_fetched_epoch >= 0:
            end = log.leader_epochs.end_offset_for(position.last_fetched_epoch, log.log_end_offset)
            if end.epoch < 0 or offset < log.log_start_offset:
                raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
            if end.epoch < position.last_fetched_epoch or end.start_offset < offset:
                data.diverging_epoch = EpochEndOffset(epoch=end.epoch, end_offset=end.start_offset)
                return data
        partition.check_readable(offset)
        is_committed = request.isolation_level == READ_COMMITTED
        stop = data.last_stable_offset if is_committed else data.high_watermark
        following = stop
        if offset < stop and (left > 0 or is_first):
            size = min(position.max_bytes, max(left, 0))
            read, following = log.read_or_slice(
                offset,
                size,
                end_offset=stop,
                at_least_one=is_first,
                lazy_from=context.connection.lazy_records_from,
            )
            # Of records the encoder takes the length and passes them on, whatever they are.
            data.records = cast(RecordBytes, read)
        if is_committed:
            aborted = log.aborted_transactions(offset, following) if data.records else ()
            data.aborted_transactions = [
                AbortedTransaction(producer_id=one.producer_id, first_offset=one.first_offset)
                for one in aborted
            ]
        return data

    def _refused(
        self, context: RequestContext, position: FetchPosition, error: KafkaError
    ) -> PartitionData:
        code = error.code
        topic = position.topic
        if isinstance(topic, str) and not context.allows(Operation.READ, ResourceType.TOPIC, topic):
            # Whether a topic exists is not told to those who may not read it.
            code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        self._count_failure(position, code)
        data = PartitionData(
            partition_index=position.index,
            error_code=int(code),
            high_watermark=_OFFSET_INVALID,
            aborted_transactions=None,
            records=b"",
        )
        if code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
            leadership = self.find(position).leadership
            data.current_leader = LeaderIdAndEpoch(
                leader_id=leadership.leader, leader_epoch=leadership.leader_epoch
            )
        return data

    # Counting

    def count(self, topic: str, size: int) -> None:
        """Records that a client gets."""
        metrics = self._metrics.topic(topic)
        metrics.fetches += 1
        metrics.bytes_out += size

    def count_expired(self) -> None:
        """A fetch that got what there was when its time was up."""
        self._metrics.expired_fetches += 1

    def _count_failure(self, position: FetchPosition, code: ErrorCode) -> None:
        topic = position.topic
        if not isinstance(topic, str):
            siblings = self._partitions.identified(topic).values()
            topic = next((partition.topic for partition in siblings), "")
        self._metrics.topic_or_elsewhere(topic).failed_fetches += 1
        self._metrics.count_error(ApiKey.FETCH, code)
