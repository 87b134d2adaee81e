"""OffsetForLeaderEpoch: where an epoch ended, so that a client notices a cut-off log (KIP-320)."""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.context import RequestContext
from headrace.broker.partitions import Partitions
from headrace.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)


class OffsetForLeaderEpochHandler:
    """Serves API key 23."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions

    def __call__(
        self, context: RequestContext, request: OffsetForLeaderEpochRequest
    ) -> OffsetForLeaderEpochResponse:
        return OffsetForLeaderEpochResponse(
            topics=[
                OffsetForLeaderTopicResult(
                    topic=topic.topic,
                    partitions=[
                        self._answer(context, topic.topic, asked) for asked in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    def _answer(
        self, context: RequestContext, topic: str, asked: OffsetForLeaderPartition
    ) -> EpochEndOffset:
        result = EpochEndOffset(partition=asked.partition)
        try:
            if not context.allows(Operation.DESCRIBE, ResourceType.TOPIC, topic):
                raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            partition = self._partitions.require(topic, asked.partition)
            partition.require_leader(asked.current_leader_epoch)
            log = partition.log
            end = log.leader_epochs.end_offset_for(asked.leader_epoch, log.log_end_offset)
            result.leader_epoch, result.end_offset = end.epoch, end.start_offset
        except KafkaError as error:
            result.error_code = int(error.code)
        return result
