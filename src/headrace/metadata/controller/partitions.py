"""More partitions for a topic."""

from collections.abc import Sequence

from headrace.base.errors import ErrorCode, KafkaError
from headrace.metadata.controller.assignments import assigned_partition, placed_partition
from headrace.metadata.controller.placement import Placer
from headrace.metadata.controller.result import ControllerResult
from headrace.metadata.controller.settings import ControllerSettings
from headrace.metadata.controller.standard_errors import standard_error
from headrace.metadata.image import MetadataImage, PartitionImage, TopicImage
from headrace.metadata.image_records import partition_record
from headrace.metadata.record_codec import AnyRecord
from headrace.protocol.messages.create_partitions import (
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)


def create_partitions(
    image: MetadataImage,
    settings: ControllerSettings,
    topics: Sequence[CreatePartitionsTopic],
    *,
    validate_only: bool = False,
) -> ControllerResult[list[CreatePartitionsTopicResult]]:
    """Grow each topic to its new count, or say why not."""
    records: list[AnyRecord] = []
    results: list[CreatePartitionsTopicResult] = []
    for request in topics:
        result = CreatePartitionsTopicResult(name=request.name)
        try:
            records += _grow(image, settings, request)
        except KafkaError as error:
            result.error_code = error.code
            result.error_message = error.message or None
        results.append(result)
    return ControllerResult(results, [] if validate_only else records)


def _grow(
    image: MetadataImage, settings: ControllerSettings, request: CreatePartitionsTopic
) -> list[AnyRecord]:
    topic = image.topics_by_name.get(request.name)
    if topic is None:
        raise standard_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    count = len(topic.partitions)
    if request.count == count:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {count} partition(s).")
    if request.count < count:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {request.name} currently has {count} partition(s); {request.count} would"
            " not be an increase.",
        )
    return [
        partition_record(topic.topic_id, count + number, partition)
        for number, partition in enumerate(_additional(image, settings, topic, request))
    ]


def _additional(
    image: MetadataImage,
    settings: ControllerSettings,
    topic: TopicImage,
    request: CreatePartitionsTopic,
) -> list[PartitionImage]:
    count = len(topic.partitions)
    additional = request.count - count
    factor = len(topic.partitions[0].replicas)
    if request.assignments is None:
        if additional > 10_000:
            raise KafkaError(
                ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request."
            )
        placed = Placer(image.brokers.values(), settings.chance).place(additional, factor)
        return [placed_partition(image, replicas, factor) for replicas in placed]
    if len(request.assignments) != additional:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {additional} additional partition(s), but only"
            f" {len(request.assignments)} assignment(s) were specified.",
        )
    return [
        assigned_partition(image, count + number, assignment.broker_ids, factor)
        for number, assignment in enumerate(request.assignments)
    ]
