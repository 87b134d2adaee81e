"""WriteTxnMarkers: the end of transactions, from another node's coordinator or an administrator.

An administrator uses it to end a transaction that hangs because its coordinator has lost it.
"""

from __future__ import annotations

from functools import partial

from headrace.base.errors import ErrorCode, KafkaError
from headrace.broker.authorization import CLUSTER_NAME, Operation, ResourceType
from headrace.broker.context import RequestContext
from headrace.broker.coordination.partition_markers import Marker, PartitionMarkers
from headrace.broker.parked import Parked
from headrace.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)


class WriteTxnMarkersHandler:
    """Serves API key 27."""

    def __init__(self, markers: PartitionMarkers) -> None:
        self._markers = markers

    def __call__(
        self, context: RequestContext, request: WriteTxnMarkersRequest
    ) -> WriteTxnMarkersResponse | Parked:
        response = WriteTxnMarkersResponse(markers=[_result(one) for one in request.markers])
        if not _may_write(context):
            for _, _, result in _places(request, response):
                result.error_code = int(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
            return response
        parked = Parked()
        places = _places(request, response)
        waiting = len(places) + 1

        def count_down() -> None:
            nonlocal waiting
            waiting -= 1
            if not waiting:
                parked.complete(response)

        def written(result: WritableTxnMarkerPartitionResult, error: KafkaError | None) -> None:
            if error is not None:
                result.error_code = int(error.code)
            count_down()

        for marker, topic, result in places:
            self._markers.write(topic, result.partition_index, marker, partial(written, result))
        count_down()
        return parked


def _may_write(context: RequestContext) -> bool:
    return context.allows(Operation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME) or context.allows(
        Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME
    )


def _result(marker: WritableTxnMarker) -> WritableTxnMarkerResult:
    return WritableTxnMarkerResult(
        producer_id=marker.producer_id,
        topics=[
            WritableTxnMarkerTopicResult(
                name=topic.name,
                partitions=[
                    WritableTxnMarkerPartitionResult(partition_index=index)
                    for index in topic.partition_indexes
                ],
            )
            for topic in marker.topics
        ],
    )


def _places(
    request: WriteTxnMarkersRequest, response: WriteTxnMarkersResponse
) -> list[tuple[Marker, str, WritableTxnMarkerPartitionResult]]:
    """Each marker with each partition it goes to, and the place for what comes of it."""
    return [
        (
            Marker(
                asked.producer_id,
                asked.producer_epoch,
                asked.transaction_result,
                asked.coordinator_epoch,
                asked.transaction_version,
            ),
            topic.name,
            partition,
        )
        for asked, answered in zip(request.markers, response.markers, strict=True)
        for topic in answered.topics
        for partition in topic.partitions
    ]
