"""FetchSnapshot (API key 59): reads a snapshot of the metadata log (KIP-630)."""

from __future__ import annotations

from headrace.protocol.schema import (
    RecordBytes,
    Request,
    Response,
    Struct,
    array,
    int16,
    int32,
    int64,
    records,
    string,
    struct,
    uint16,
    uuid,
)


class SnapshotId(Struct):
    end_offset: int = int64()
    epoch: int = int32()


class PartitionSnapshot(Struct):
    partition: int = int32()
    current_leader_epoch: int = int32()
    snapshot_id: SnapshotId = struct(SnapshotId)
    position: int = int64()
    replica_directory_id: bytes = uuid("1+", tag=0)


class TopicSnapshot(Struct):
    name: str = string()
    partitions: list[PartitionSnapshot] = array(PartitionSnapshot)


class FetchSnapshotRequest(Request, key=59, versions="0-1", flexible="0+"):
    cluster_id: str | None = string(null="0+", tag=0, default=None)
    replica_id: int = int32(default=-1)
    max_bytes: int = int32(default=2**31 - 1)
    topics: list[TopicSnapshot] = array(TopicSnapshot)


class LeaderIdAndEpoch(Struct):
    leader_id: int = int32()
    leader_epoch: int = int32()


class ResponsePartitionSnapshot(Struct):
    index: int = int32()
    error_code: int = int16()
    snapshot_id: SnapshotId = struct(SnapshotId)
    current_leader: LeaderIdAndEpoch = struct(LeaderIdAndEpoch, tag=0)
    size: int = int64()
    position: int = int64()
    unaligned_records: RecordBytes | None = records()


class ResponseTopicSnapshot(Struct):
    name: str = string()
    partitions: list[ResponsePartitionSnapshot] = array(ResponsePartitionSnapshot)


class NodeEndpoint(Struct):
    node_id: int = int32("1+")
    host: str = string("1+")
    port: int = uint16("1+")


class FetchSnapshotResponse(Response, key=59, versions="0-1", flexible="0+"):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    topics: list[ResponseTopicSnapshot] = array(ResponseTopicSnapshot)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, "1+", tag=0)
