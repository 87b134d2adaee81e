"""ListOffsets for many partitions at once: by time, or the first, last and other special ones."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.base.errors import ErrorCode, KafkaError
from headrace.client.blocking import KafkaClient
from headrace.client.connection import BlockingConnection
from headrace.client.leaders import LeaderAnswers, TopicPartition, ask_leaders
from headrace.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -4, -5, -6
UNKNOWN_OFFSET = -1

#: The version that brought each of the newer special values.
_NEEDS_VERSION = {
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}


def list_offsets(
    client: KafkaClient, wanted: Mapping[TopicPartition, int], *, read_committed: bool = False
) -> dict[TopicPartition, int | KafkaError]:
    """The offset for the timestamp of each partition; `UNKNOWN_OFFSET` where there is none."""
    low = max((_NEEDS_VERSION.get(timestamp, 0) for timestamp in wanted.values()), default=0)

    def send(
        connection: BlockingConnection, partitions: list[TopicPartition]
    ) -> LeaderAnswers[int]:
        try:
            version = connection.versions.pick(ListOffsetsRequest, low)
        except KafkaError as error:
            return dict.fromkeys(partitions, (error.code, error.message, UNKNOWN_OFFSET))
        topics: dict[str, list[ListOffsetsPartition]] = {}
        for topic, index in partitions:
            row = ListOffsetsPartition(partition_index=index, timestamp=wanted[topic, index])
            topics.setdefault(topic, []).append(row)
        request = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=int(read_committed),
            topics=[ListOffsetsTopic(name=name, partitions=rows) for name, rows in topics.items()],
            timeout_ms=client.config.request_timeout_ms,
        )
        answer = connection.call(request, ListOffsetsResponse, version=version)
        return {
            (topic.name, row.partition_index): (row.error_code, None, row.offset)
            for topic in answer.topics
            for row in topic.partitions
        }

    return ask_leaders(client, wanted, send)


def require_offsets(found: Mapping[TopicPartition, int | KafkaError]) -> dict[TopicPartition, int]:
    """The offsets, or the first error among them."""
    offsets = {}
    for partition, offset in found.items():
        if isinstance(offset, KafkaError):
            raise KafkaError(ErrorCode(offset.code), offset.message)
        offsets[partition] = offset
    return offsets
