"""The records of `__consumer_offsets`.

A record is a key and a value, each behind its version as two bytes; the version in front of the
key says which kind of record it is. No value means that the thing is deleted.
"""

from __future__ import annotations

from headrace.protocol.coordinator_record import CoordinatorRecord
from headrace.protocol.schema import Struct, array, binary, int8, int32, int64, string, struct, uuid


class LegacyOffsetCommitKey(CoordinatorRecord, key=0, versions="0", flexible="none"):
    group: str = string("0")
    topic: str = string("0")
    partition: int = int32("0")


class LegacyOffsetCommitValue(CoordinatorRecord, key=0, versions="0", flexible="none"):
    offset: int = int64("0")
    metadata: str = string("0")
    commit_timestamp: int = int64("0")


class OffsetCommitKey(CoordinatorRecord, key=1, versions="0", flexible="none"):
    group: str = string("0")
    topic: str = string("0")
    partition: int = int32("0")


class OffsetCommitValue(CoordinatorRecord, key=1, versions="0-4", flexible="4+"):
    offset: int = int64()
    leader_epoch: int = int32("3+", default=-1)
    metadata: str = string()
    commit_timestamp: int = int64()
    expire_timestamp: int = int64("1", default=-1)
    topic_id: bytes = uuid("4+", tag=0)


class GroupMetadataKey(CoordinatorRecord, key=2, versions="0", flexible="none"):
    group: str = string("0")


class MemberMetadata(Struct):
    member_id: str = string()
    group_instance_id: str | None = string("3+", null="3+", default=None)
    client_id: str = string()
    client_host: str = string()
    rebalance_timeout: int = int32("1+", default=-1)
    session_timeout: int = int32()
    subscription: bytes = binary()
    assignment: bytes = binary()


class GroupMetadataValue(CoordinatorRecord, key=2, versions="0-4", flexible="4+"):
    protocol_type: str = string()
    generation: int = int32()
    protocol: str | None = string(null="0+")
    leader: str | None = string(null="0+")
    current_state_timestamp: int = int64("2+", default=-1)
    members: list[MemberMetadata] = array(MemberMetadata)


class ConsumerGroupMetadataKey(CoordinatorRecord, key=3, versions="0", flexible="none"):
    group_id: str = string("0")


class ConsumerGroupMetadataValue(CoordinatorRecord, key=3, versions="0", flexible="0+"):
    epoch: int = int32()
    metadata_hash: int = int64(tag=0)


class ConsumerGroupPartitionMetadataKey(CoordinatorRecord, key=4, versions="0", flexible="none"):
    group_id: str = string("0")


class PartitionMetadata(Struct):
    partition: int = int32()
    racks: list[str] = array(string)


class TopicMetadata(Struct):
    topic_id: bytes = uuid()
    topic_name: str = string()
    num_partitions: int = int32()
    partition_metadata: list[PartitionMetadata] = array(PartitionMetadata)


class ConsumerGroupPartitionMetadataValue(CoordinatorRecord, key=4, versions="0", flexible="0+"):
    topics: list[TopicMetadata] = array(TopicMetadata)


class ConsumerGroupMemberMetadataKey(CoordinatorRecord, key=5, versions="0", flexible="none"):
    group_id: str = string("0")
    member_id: str = string("0")


class ClassicProtocol(Struct):
    name: str = string()
    metadata: bytes = binary()


class ClassicMemberMetadata(Struct):
    session_timeout_ms: int = int32()
    supported_protocols: list[ClassicProtocol] = array(ClassicProtocol)


class ConsumerGroupMemberMetadataValue(CoordinatorRecord, key=5, versions="0", flexible="0+"):
    instance_id: str | None = string(null="0+")
    rack_id: str | None = string(null="0+")
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: list[str] = array(string)
    subscribed_topic_regex: str | None = string(null="0+")
    rebalance_timeout_ms: int = int32(default=-1)
    server_assignor: str | None = string(null="0+")
    #: No default: Kafka writes out that there is none, and takes silence for an empty one.
    classic_member_metadata: ClassicMemberMetadata | None = struct(
        ClassicMemberMetadata, null="0+", tag=0
    )


class ConsumerGroupTargetAssignmentMetadataKey(
    CoordinatorRecord, key=6, versions="0", flexible="none"
):
    group_id: str = string("0")


class ConsumerGroupTargetAssignmentMetadataValue(
    CoordinatorRecord, key=6, versions="0", flexible="0+"
):
    assignment_epoch: int = int32()
    assignment_timestamp: int = int64(tag=0)


class ConsumerGroupTargetAssignmentMemberKey(
    CoordinatorRecord, key=7, versions="0", flexible="none"
):
    group_id: str = string("0")
    member_id: str = string("0")


class TopicPartition(Struct):
    topic_id: bytes = uuid()
    partitions: list[int] = array(int32)


class ConsumerGroupTargetAssignmentMemberValue(
    CoordinatorRecord, key=7, versions="0", flexible="0+"
):
    topic_partitions: list[TopicPartition] = array(TopicPartition)


class ConsumerGroupCurrentMemberAssignmentKey(
    CoordinatorRecord, key=8, versions="0", flexible="none"
):
    group_id: str = string("0")
    member_id: str = string("0")


class TopicPartitions(Struct):
    topic_id: bytes = uuid()
    partitions: list[int] = array(int32)
    assignment_epochs: list[int] | None = array(int32, null="0+", tag=0)


class ConsumerGroupCurrentMemberAssignmentValue(
    CoordinatorRecord, key=8, versions="0", flexible="0+"
):
    member_epoch: int = int32()
    previous_member_epoch: int = int32()
    state: int = int8()
    assigned_partitions: list[TopicPartitions] = array(TopicPartitions)
    partitions_pending_revocation: list[TopicPartitions] = array(TopicPartitions)


class ConsumerGroupRegularExpressionKey(CoordinatorRecord, key=16, versions="0", flexible="none"):
    group_id: str = string("0")
    regular_expression: str = string("0")


class ConsumerGroupRegularExpressionValue(CoordinatorRecord, key=16, versions="0", flexible="0+"):
    topics: list[str] = array(string)
    version: int = int64()
    timestamp: int = int64()
