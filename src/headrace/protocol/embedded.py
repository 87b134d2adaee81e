"""Structures that travel inside other messages, in control records and in small files."""

from __future__ import annotations

from headrace.protocol.schema import (
    Message,
    Struct,
    array,
    binary,
    boolean,
    int16,
    int32,
    int64,
    string,
    struct,
    uint16,
    uuid,
)


class TopicPartition(Struct):
    topic: str = string()
    partitions: list[int] = array(int32)


class ConsumerProtocolAssignment(Message, versions="0-3", flexible="none"):
    assigned_partitions: list[TopicPartition] = array(TopicPartition)
    user_data: bytes | None = binary(null="0+", default=None)


class ConsumerProtocolSubscriptionTopicPartition(Struct):
    topic: str = string("1+")
    partitions: list[int] = array(int32, "1+")


class ConsumerProtocolSubscription(Message, versions="0-3", flexible="none"):
    topics: list[str] = array(string)
    user_data: bytes | None = binary(null="0+", default=None)
    owned_partitions: list[ConsumerProtocolSubscriptionTopicPartition] = array(
        ConsumerProtocolSubscriptionTopicPartition, "1+"
    )
    generation_id: int = int32("2+", default=-1)
    rack_id: str | None = string("3+", null="3+", default=None)


class DefaultPrincipalData(Message, versions="0", flexible="0+"):
    type: str = string()
    name: str = string()
    token_authenticated: bool = boolean()


class EndTxnMarker(Message, versions="0", flexible="none"):
    coordinator_epoch: int = int32()


class KRaftVersionRecord(Message, versions="0", flexible="0+"):
    version: int = int16()
    k_raft_version: int = int16()


class Voter(Struct):
    voter_id: int = int32()
    voter_directory_id: bytes = uuid("1+")


class LeaderChangeMessage(Message, versions="0-1", flexible="0+"):
    version: int = int16()
    leader_id: int = int32()
    voters: list[Voter] = array(Voter)
    granting_voters: list[Voter] = array(Voter)


class QuorumStateDataVoter(Struct):
    voter_id: int = int32("0")


class QuorumStateData(Message, versions="0-1", flexible="0+"):
    cluster_id: str = string("0")
    leader_id: int = int32(default=-1)
    leader_epoch: int = int32(default=-1)
    voted_id: int = int32(default=-1)
    voted_directory_id: bytes = uuid("1+")
    applied_offset: int = int64("0")
    current_voters: list[QuorumStateDataVoter] | None = array(QuorumStateDataVoter, "0", null="0")


class SnapshotFooterRecord(Message, versions="0", flexible="0+"):
    version: int = int16()


class SnapshotHeaderRecord(Message, versions="0", flexible="0+"):
    version: int = int16()
    last_contained_log_timestamp: int = int64()


class Endpoint(Struct):
    name: str = string()
    host: str = string()
    port: int = uint16()


class KRaftVersionFeature(Struct):
    min_supported_version: int = int16()
    max_supported_version: int = int16()


class VotersVoter(Struct):
    voter_id: int = int32()
    voter_directory_id: bytes = uuid()
    endpoints: list[Endpoint] = array(Endpoint)
    k_raft_version_feature: KRaftVersionFeature = struct(KRaftVersionFeature)


class VotersRecord(Message, versions="0", flexible="0+"):
    version: int = int16()
    voters: list[VotersVoter] = array(VotersVoter)
