"""AssignReplicasToDirs: a broker tells in which of its directories a replica lies (KIP-858)."""

from headrace.base.errors import ErrorCode
from headrace.metadata.controller.brokers import registered
from headrace.metadata.controller.leadership import leader_and_isr_updates, new_change
from headrace.metadata.controller.partition_change import has_online_directory
from headrace.metadata.controller.result import ControllerResult
from headrace.metadata.controller.settings import ControllerSettings
from headrace.metadata.image import MetadataImage
from headrace.metadata.record_codec import AnyRecord
from headrace.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    ResponseDirectoryData,
    ResponsePartitionData,
    ResponseTopicData,
)


def assign_replicas_to_directories(
    image: MetadataImage, settings: ControllerSettings, request: AssignReplicasToDirsRequest
) -> ControllerResult[AssignReplicasToDirsResponse]:
    """Write down where the broker put its replicas."""
    broker = registered(image, request.broker_id, request.broker_epoch)
    records: list[AnyRecord] = []
    lost: set[tuple[bytes, int]] = set()
    response = AssignReplicasToDirsResponse()
    for directory in request.directories:
        is_online = has_online_directory(broker, directory.id)
        answer = ResponseDirectoryData(id=directory.id)
        response.directories.append(answer)
        for topic in directory.topics:
            topic_answer = ResponseTopicData(topic_id=topic.topic_id)
            answer.topics.append(topic_answer)
            for partition in topic.partitions:
                index = partition.partition_index
                code = _check(image, topic.topic_id, index, request.broker_id)
                if code is ErrorCode.NONE:
                    change = new_change(image, settings, image.topics_by_id[topic.topic_id], index)
                    change.directories[request.broker_id] = directory.id
                    record = change.build()
                    if record is not None:
                        records.append(record)
                    if not is_online:
                        lost.add((topic.topic_id, index))
                topic_answer.partitions.append(
                    ResponsePartitionData(partition_index=index, error_code=code)
                )
    for topic_id, index in lost:
        wanted = image.topics_by_id[topic_id].partitions[index]
        records += leader_and_isr_updates(
            image,
            settings,
            lambda partition, wanted=wanted: partition is wanted,  # type: ignore[misc]
            removed=request.broker_id,
        )
    return ControllerResult(response, records)


def _check(image: MetadataImage, topic_id: bytes, index: int, broker_id: int) -> ErrorCode:
    topic = image.topics_by_id.get(topic_id)
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if not 0 <= index < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if broker_id not in topic.partitions[index].replicas:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return ErrorCode.NONE
