"""ElectLeaders: move leadership back to the preferred replica, or force some leader."""

from collections.abc import Sequence
from enum import IntEnum

from headrace.base.errors import ErrorCode, KafkaError
from headrace.metadata.controller.leadership import new_change
from headrace.metadata.controller.partition_change import Election
from headrace.metadata.controller.result import ControllerResult
from headrace.metadata.controller.settings import ControllerSettings
from headrace.metadata.controller.standard_errors import standard_error
from headrace.metadata.image import NO_LEADER, MetadataImage
from headrace.metadata.record_codec import AnyRecord
from headrace.metadata.records import PartitionChangeRecord


class ElectionType(IntEnum):
    """What a request may ask for."""

    PREFERRED = 0
    UNCLEAN = 1


#: (topic, partition) -> why there was no election, None if there was one.
ElectionOutcomes = dict[tuple[str, int], KafkaError | None]


def elect_leaders(
    image: MetadataImage,
    settings: ControllerSettings,
    election_type: int,
    partitions: Sequence[tuple[str, int]] | None,
) -> ControllerResult[ElectionOutcomes]:
    """Elect leaders for the named partitions, or (None) for all that need it."""
    if election_type not in tuple(ElectionType):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown election type {election_type}")
    wanted = partitions
    if wanted is None:
        wanted = [
            (topic.name, index)
            for topic in image.topics_by_name.values()
            for index in range(len(topic.partitions))
        ]
    records: list[AnyRecord] = []
    outcomes: ElectionOutcomes = {}
    for name, index in wanted:
        try:
            record = _elect(image, settings, ElectionType(election_type), name, index)
        except KafkaError as error:
            # Nobody who asks for everything wants to hear what was fine already.
            if partitions is not None or error.code != ErrorCode.ELECTION_NOT_NEEDED:
                outcomes[name, index] = error
        else:
            outcomes[name, index] = None
            records.append(record)
    return ControllerResult(outcomes, records)


def _elect(
    image: MetadataImage,
    settings: ControllerSettings,
    election_type: ElectionType,
    name: str,
    index: int,
) -> PartitionChangeRecord:
    topic = image.topics_by_name.get(name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
    if not 0 <= index < len(topic.partitions):
        raise KafkaError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{index}"
        )
    partition = topic.partitions[index]
    prefers = election_type is ElectionType.PREFERRED
    is_fine = partition.leader == partition.replicas[0] if prefers else partition.leader >= 0
    if is_fine and partition.leader != NO_LEADER:
        raise standard_error(ErrorCode.ELECTION_NOT_NEEDED)
    election = Election.PREFERRED if prefers else Election.UNCLEAN
    record = new_change(image, settings, topic, index, election=election).build()
    if record is None:
        raise standard_error(
            ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
            if prefers
            else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
        )
    return record
