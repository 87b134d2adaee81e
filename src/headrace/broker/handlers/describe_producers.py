"""DescribeProducers: who writes to a partition, and since when a transaction is open (KIP-664)."""

from __future__ import annotations

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import Operation, ResourceType
from headrace.broker.context import RequestContext
from headrace.broker.partitions import Partitions
from headrace.metadata.controller.topic_names import check_topic_name
from headrace.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)


class DescribeProducersHandler:
    """Serves API key 61."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions

    def __call__(
        self, context: RequestContext, request: DescribeProducersRequest
    ) -> DescribeProducersResponse:
        # However often a partition is named, its producers are told once.
        asked: dict[str, dict[int, None]] = {}
        for topic in request.topics:
            asked.setdefault(topic.name, {}).update(dict.fromkeys(topic.partition_indexes))
        return DescribeProducersResponse(
            topics=[
                TopicResponse(
                    name=name,
                    partitions=[self._describe(context, name, index) for index in indexes],
                )
                for name, indexes in asked.items()
            ]
        )

    def _describe(self, context: RequestContext, topic: str, index: int) -> PartitionResponse:
        result = PartitionResponse(partition_index=index)
        try:
            check_topic_name(topic)
            if not context.allows(Operation.READ, ResourceType.TOPIC, topic):
                raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            partition = self._partitions.require(topic, index)
            partition.require_leader(-1)
            result.active_producers = [
                ProducerState(
                    producer_id=entry.producer_id,
                    producer_epoch=entry.epoch,
                    last_sequence=entry.last_sequence,
                    last_timestamp=entry.last_timestamp,
                    coordinator_epoch=entry.coordinator_epoch,
                    current_txn_start_offset=entry.txn_first_offset,
                )
                for entry in partition.log.producers
            ]
        except KafkaError as error:
            result.error_code = int(error.code)
            result.error_message = error.message or None
        return result
