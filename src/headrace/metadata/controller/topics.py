"""Creating and deleting topics."""

from collections.abc import Sequence

from headrace.base.errors import ErrorCode, KafkaError
from headrace.metadata.controller.assignments import assigned_partition, placed_partition
from headrace.metadata.controller.configs import created_config_records
from headrace.metadata.controller.placement import Placer
from headrace.metadata.controller.result import ControllerResult
from headrace.metadata.controller.settings import ControllerSettings
from headrace.metadata.controller.standard_errors import standard_error
from headrace.metadata.controller.topic_names import check_topic_name, colliding_topic
from headrace.metadata.image import MetadataImage, PartitionImage
from headrace.metadata.image_records import partition_record
from headrace.metadata.record_codec import AnyRecord
from headrace.metadata.records import RemoveTopicRecord, TopicRecord
from headrace.protocol.messages.create_topics import CreatableTopic, CreatableTopicResult

#: The most partitions that one request may create (Kafka's limit).
PARTITIONS_PER_REQUEST_MAX = 10_000


def create_topics(
    image: MetadataImage,
    settings: ControllerSettings,
    topics: Sequence[CreatableTopic],
    *,
    validate_only: bool = False,
) -> ControllerResult[list[CreatableTopicResult]]:
    """Create each topic or say why not; one topic's error is nothing to the others.

    The effective settings of a new topic, which newer versions of the response carry, are left to
    the caller: they depend on the node.
    """
    _check_partition_count(settings, topics)
    records: list[AnyRecord] = []
    results: list[CreatableTopicResult] = []
    for topic in topics:
        try:
            created, result = _create_topic(image, settings, topic)
        except KafkaError as error:
            result = CreatableTopicResult(
                name=topic.name, error_code=error.code, error_message=error.message or None
            )
        else:
            records += created
        results.append(result)
    return ControllerResult(results, [] if validate_only else records)


def _check_partition_count(settings: ControllerSettings, topics: Sequence[CreatableTopic]) -> None:
    total = 0
    for topic in topics:
        if topic.assignments:
            total += len(topic.assignments)
        elif topic.num_partitions == -1:
            total += settings.num_partitions
        else:
            total += max(topic.num_partitions, 0)
    if total > PARTITIONS_PER_REQUEST_MAX:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request."
        )


def _create_topic(
    image: MetadataImage, settings: ControllerSettings, topic: CreatableTopic
) -> tuple[list[AnyRecord], CreatableTopicResult]:
    name = topic.name
    if name in image.topics_by_name:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    check_topic_name(name)
    collision = colliding_topic(name, image.topics_by_name)
    if collision is not None:
        raise KafkaError(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"Topic '{name}' collides with existing topic: {collision}",
        )
    config_records = created_config_records(image, settings, topic)
    partitions = _partitions(image, settings, topic)
    topic_id = settings.new_uuid()
    # Settings come before partitions: a broker makes each partition's log with them.
    records: list[AnyRecord] = [TopicRecord(name=name, topic_id=topic_id), *config_records]
    records += [
        partition_record(topic_id, index, partition) for index, partition in enumerate(partitions)
    ]
    result = CreatableTopicResult(
        name=name,
        topic_id=topic_id,
        error_code=ErrorCode.NONE,
        error_message=None,
        num_partitions=len(partitions),
        replication_factor=len(partitions[0].replicas),
    )
    return records, result


def _partitions(
    image: MetadataImage, settings: ControllerSettings, topic: CreatableTopic
) -> list[PartitionImage]:
    if topic.assignments:
        return _assigned(image, topic)
    if topic.replication_factor < -1 or topic.replication_factor == 0:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if topic.num_partitions < -1 or topic.num_partitions == 0:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            "Number of partitions was set to an invalid non-positive value.",
        )
    count = settings.num_partitions if topic.num_partitions == -1 else topic.num_partitions
    factor = topic.replication_factor
    if factor == -1:
        factor = settings.default_replication_factor
    try:
        placed = Placer(image.brokers.values(), settings.chance).place(count, factor)
    except KafkaError as error:
        raise KafkaError(
            error.code, f"Unable to replicate the partition {factor} time(s): {error.message}"
        ) from None
    return [placed_partition(image, replicas, factor) for replicas in placed]


def _assigned(image: MetadataImage, topic: CreatableTopic) -> list[PartitionImage]:
    for value, what in (
        (topic.replication_factor, "replication factor"),
        (topic.num_partitions, "numPartitions"),
    ):
        if value != -1:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"A manual partition assignment was specified, but {what} was not set to -1.",
            )
    partitions: dict[int, PartitionImage] = {}
    factor: int | None = None
    for assignment in topic.assignments:
        index = assignment.partition_index
        if index in partitions:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Found multiple manual partition assignments for partition {index}",
            )
        partitions[index] = assigned_partition(image, index, assignment.broker_ids, factor)
        factor = len(assignment.broker_ids)
    if any(index not in partitions for index in range(len(partitions))):
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "partitions should be a consecutive 0-based integer sequence",
        )
    return [partitions[index] for index in range(len(partitions))]


def delete_topics(
    image: MetadataImage, topic_ids: Sequence[bytes]
) -> ControllerResult[dict[bytes, KafkaError | None]]:
    """Delete topics by id; the reply has an error for each that does not exist."""
    records: list[AnyRecord] = []
    results: dict[bytes, KafkaError | None] = {}
    for topic_id in topic_ids:
        if topic_id not in image.topics_by_id:
            results[topic_id] = standard_error(ErrorCode.UNKNOWN_TOPIC_ID)
        elif topic_id not in results:
            results[topic_id] = None
            records.append(RemoveTopicRecord(topic_id=topic_id))
    return ControllerResult(results, records)
