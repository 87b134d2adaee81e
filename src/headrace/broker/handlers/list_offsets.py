"""ListOffsets: the first, the last, or the first at a time; and the newer special offsets."""

from __future__ import annotations

from collections import Counter

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.context import RequestContext
from headrace.broker.coordination.turns import Turns
from headrace.broker.parked import Parked, Scheduler
from headrace.broker.partitions import Partitions
from headrace.broker.time_lookups import OpenElsewhere, TimeLookup, TimeLookups
from headrace.log.time_search import NewestSearch, Search, TimeSearch
from headrace.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from headrace.replication.partition import Partition

LATEST = -1
EARLIEST = -2
#: The newest record of all (KIP-734).
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6

#: The version since which a special timestamp may be asked for.
_SINCE = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
_NEVER = 1 << 15


class ListOffsetsHandler:
    """Serves API key 2."""

    def __init__(
        self, partitions: Partitions, scheduler: Scheduler, open_elsewhere: OpenElsewhere
    ) -> None:
        self._partitions = partitions
        self._turns = Turns(scheduler.call_soon)
        self._open_elsewhere = open_elsewhere

    def __call__(
        self, context: RequestContext, request: ListOffsetsRequest
    ) -> ListOffsetsResponse | Parked:
        response = ListOffsetsResponse()
        lookups: list[TimeLookup] = []
        # Also across entries of one topic: a look into a log is too costly to be had for a byte.
        counts = Counter(
            (topic.name, asked.partition_index)
            for topic in request.topics
            for asked in topic.partitions
        )
        for topic in request.topics:
            answer = ListOffsetsTopicResponse(name=topic.name)
            response.topics.append(answer)
            for asked in {asked.partition_index: asked for asked in topic.partitions}.values():
                result = ListOffsetsPartitionResponse(partition_index=asked.partition_index)
                answer.partitions.append(result)
                try:
                    if not context.allows(Operation.DESCRIBE, ResourceType.TOPIC, topic.name):
                        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
                    if counts[topic.name, asked.partition_index] > 1:
                        raise KafkaError(ErrorCode.INVALID_REQUEST)
                    lookup = self._answer(context, request, topic.name, asked, result)
                except KafkaError as error:
                    result.error_code = int(error.code)
                else:
                    if lookup is not None:
                        lookups.append(lookup)
        if not lookups:
            return response
        return TimeLookups(
            response, lookups, self._partitions, self._turns, self._open_elsewhere
        ).start()

    def _answer(
        self,
        context: RequestContext,
        request: ListOffsetsRequest,
        topic: str,
        asked: ListOffsetsPartition,
        result: ListOffsetsPartitionResponse,
    ) -> TimeLookup | None:
        """Answer for one partition, or say what has to be looked up for that."""
        if asked.timestamp < 0 and context.api_version < _SINCE.get(asked.timestamp, _NEVER):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        partition = self._partitions.require(topic, asked.partition_index)
        partition.require_leader(asked.current_leader_epoch)
        end = partition.readable_end(request.isolation_level)
        if asked.timestamp >= 0 or asked.timestamp == MAX_TIMESTAMP:
            newest = asked.timestamp == MAX_TIMESTAMP
            search: Search = NewestSearch() if newest else TimeSearch(asked.timestamp)
            return TimeLookup(partition, search, end, result)
        _answer_special(partition, asked.timestamp, end, result)
        return None


def _answer_special(
    partition: Partition, timestamp: int, end: int, result: ListOffsetsPartitionResponse
) -> None:
    log = partition.log
    if timestamp == LATEST:
        result.offset = end
        result.leader_epoch = partition.leadership.leader_epoch
    elif timestamp in (EARLIEST, EARLIEST_LOCAL):
        # Without tiered storage everything is local.
        result.offset = log.log_start_offset
        epoch = log.leader_epochs.epoch_for_offset(log.log_start_offset)
        result.leader_epoch = partition.leadership.leader_epoch if epoch is None else epoch
    else:  # nothing is tiered, and nothing waits to be
        result.offset = -1
