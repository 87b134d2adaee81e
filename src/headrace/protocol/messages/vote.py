"""Vote (API key 52): a candidate of the controller quorum asks for a vote (KIP-595)."""

from __future__ import annotations

from headrace.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    int64,
    string,
    uint16,
    uuid,
)


class PartitionData(Struct):
    partition_index: int = int32()
    replica_epoch: int = int32()
    replica_id: int = int32()
    replica_directory_id: bytes = uuid("1+")
    voter_directory_id: bytes = uuid("1+")
    last_offset_epoch: int = int32()
    last_offset: int = int64()
    pre_vote: bool = boolean("2+")


class TopicData(Struct):
    topic_name: str = string()
    partitions: list[PartitionData] = array(PartitionData)


class VoteRequest(Request, key=52, versions="0-2", flexible="0+"):
    cluster_id: str | None = string(null="0+", default=None)
    voter_id: int = int32("1+", default=-1)
    topics: list[TopicData] = array(TopicData)


class ResponsePartitionData(Struct):
    partition_index: int = int32()
    error_code: int = int16()
    leader_id: int = int32()
    leader_epoch: int = int32()
    vote_granted: bool = boolean()


class ResponseTopicData(Struct):
    topic_name: str = string()
    partitions: list[ResponsePartitionData] = array(ResponsePartitionData)


class NodeEndpoint(Struct):
    node_id: int = int32("1+")
    host: str = string("1+")
    port: int = uint16("1+")


class VoteResponse(Response, key=52, versions="0-2", flexible="0+"):
    error_code: int = int16()
    topics: list[ResponseTopicData] = array(ResponseTopicData)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, "1+", tag=0)
