"""Fetch (API key 1): a consumer or a follower reads record batches.

Version 4 brought isolation levels, 7 fetch sessions (KIP-227), 11 reading from followers
(KIP-392), 12 flexible encoding and diverging epochs (KIP-595), 13 topic ids (KIP-516),
15 the replica's epoch (KIP-903), 16 the new leader in the answer (KIP-951), 17 directory ids
(KIP-853), 18 the follower's high watermark (KIP-1166).
"""

from __future__ import annotations

from headrace.protocol.schema import (
    RecordBytes,
    Request,
    Response,
    Struct,
    array,
    int8,
    int16,
    int32,
    int64,
    records,
    string,
    struct,
    uuid,
)


class ReplicaState(Struct):
    replica_id: int = int32("15+", default=-1)
    replica_epoch: int = int64("15+", default=-1)


class FetchPartition(Struct):
    partition: int = int32()
    current_leader_epoch: int = int32("9+", default=-1)
    fetch_offset: int = int64()
    last_fetched_epoch: int = int32("12+", default=-1)
    log_start_offset: int = int64("5+", default=-1)
    partition_max_bytes: int = int32()
    replica_directory_id: bytes = uuid("17+", tag=0)
    high_watermark: int = int64("18+", tag=1, default=2**63 - 1)


class FetchTopic(Struct):
    topic: str = string("0-12")
    topic_id: bytes = uuid("13+")
    partitions: list[FetchPartition] = array(FetchPartition)


class ForgottenTopic(Struct):
    topic: str = string("7-12")
    topic_id: bytes = uuid("13+")
    partitions: list[int] = array(int32, "7+")


class FetchRequest(Request, key=1, versions="4-18", flexible="12+"):
    cluster_id: str | None = string("12+", null="12+", tag=0, default=None)
    replica_id: int = int32("0-14", default=-1)
    replica_state: ReplicaState = struct(ReplicaState, "15+", tag=1)
    max_wait_ms: int = int32()
    min_bytes: int = int32()
    max_bytes: int = int32("3+", default=2**31 - 1)
    isolation_level: int = int8("4+")
    session_id: int = int32("7+")
    session_epoch: int = int32("7+", default=-1)
    topics: list[FetchTopic] = array(FetchTopic)
    forgotten_topics_data: list[ForgottenTopic] = array(ForgottenTopic, "7+")
    rack_id: str = string("11+")


class EpochEndOffset(Struct):
    epoch: int = int32("12+", default=-1)
    end_offset: int = int64("12+", default=-1)


class LeaderIdAndEpoch(Struct):
    leader_id: int = int32("12+", default=-1)
    leader_epoch: int = int32("12+", default=-1)


class SnapshotId(Struct):
    end_offset: int = int64(default=-1)
    epoch: int = int32(default=-1)


class AbortedTransaction(Struct):
    producer_id: int = int64("4+")
    first_offset: int = int64("4+")


class PartitionData(Struct):
    partition_index: int = int32()
    error_code: int = int16()
    high_watermark: int = int64()
    last_stable_offset: int = int64("4+", default=-1)
    log_start_offset: int = int64("5+", default=-1)
    diverging_epoch: EpochEndOffset = struct(EpochEndOffset, "12+", tag=0)
    current_leader: LeaderIdAndEpoch = struct(LeaderIdAndEpoch, "12+", tag=1)
    snapshot_id: SnapshotId = struct(SnapshotId, "12+", tag=2)
    aborted_transactions: list[AbortedTransaction] | None = array(
        AbortedTransaction, "4+", null="4+"
    )
    preferred_read_replica: int = int32("11+", default=-1)
    records: RecordBytes | None = records(null="0+")


class FetchableTopicResponse(Struct):
    topic: str = string("0-12")
    topic_id: bytes = uuid("13+")
    partitions: list[PartitionData] = array(PartitionData)


class NodeEndpoint(Struct):
    node_id: int = int32("16+")
    host: str = string("16+")
    port: int = int32("16+")
    rack: str | None = string("16+", null="16+", default=None)


class FetchResponse(Response, key=1, versions="4-18", flexible="12+"):
    throttle_time_ms: int = int32("1+")
    error_code: int = int16("7+")
    session_id: int = int32("7+")
    responses: list[FetchableTopicResponse] = array(FetchableTopicResponse)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, "16+", tag=0)
