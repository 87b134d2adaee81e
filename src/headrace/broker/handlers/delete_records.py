"""DeleteRecords: moves the start of partitions; the disk follows with the next retention pass."""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.context import RequestContext
from headrace.broker.partitions import Partitions
from headrace.metadata.controller.topic_names import INTERNAL_TOPICS
from headrace.protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

_NO_WATERMARK = -1


class DeleteRecordsHandler:
    """Serves API key 21."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions

    def __call__(
        self, context: RequestContext, request: DeleteRecordsRequest
    ) -> DeleteRecordsResponse:
        return DeleteRecordsResponse(
            topics=[
                DeleteRecordsTopicResult(
                    name=topic.name,
                    partitions=[
                        self._delete(context, topic.name, asked.partition_index, asked.offset)
                        for asked in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    def _delete(
        self, context: RequestContext, topic: str, index: int, offset: int
    ) -> DeleteRecordsPartitionResult:
        result = DeleteRecordsPartitionResult(partition_index=index, low_watermark=_NO_WATERMARK)
        try:
            if not context.allows(Operation.DELETE, ResourceType.TOPIC, topic):
                raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            partition = self._partitions.require(topic, index)
            if topic in INTERNAL_TOPICS:
                raise KafkaError(
                    ErrorCode.INVALID_TOPIC_EXCEPTION,
                    f"Records of the internal topic {topic} cannot be deleted.",
                )
            partition.require_leader(-1)
            if not partition.log.config.delete and partition.log.config.cleanup_policy:
                raise KafkaError(
                    ErrorCode.POLICY_VIOLATION,
                    "Records can be deleted only where cleanup.policy contains delete.",
                )
            result.low_watermark = partition.delete_records_before(offset)
        except KafkaError as error:
            result.error_code = int(error.code)
        return result
