"""ShareAcknowledge (API key 79): a member of a share group settles records (KIP-932)."""

from __future__ import annotations

from headrace.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    int64,
    string,
    struct,
    uuid,
)


class AcknowledgementBatch(Struct):
    first_offset: int = int64()
    last_offset: int = int64()
    acknowledge_types: list[int] = array(int8)


class AcknowledgePartition(Struct):
    partition_index: int = int32()
    acknowledgement_batches: list[AcknowledgementBatch] = array(AcknowledgementBatch)


class AcknowledgeTopic(Struct):
    topic_id: bytes = uuid()
    partitions: list[AcknowledgePartition] = array(AcknowledgePartition)


class ShareAcknowledgeRequest(Request, key=79, versions="1-2", flexible="0+"):
    group_id: str | None = string(null="0+", default=None)
    member_id: str | None = string(null="0+")
    share_session_epoch: int = int32()
    is_renew_ack: bool = boolean("2+")
    topics: list[AcknowledgeTopic] = array(AcknowledgeTopic)


class LeaderIdAndEpoch(Struct):
    leader_id: int = int32()
    leader_epoch: int = int32()


class PartitionData(Struct):
    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(null="0+", default=None)
    current_leader: LeaderIdAndEpoch = struct(LeaderIdAndEpoch)


class ShareAcknowledgeTopicResponse(Struct):
    topic_id: bytes = uuid()
    partitions: list[PartitionData] = array(PartitionData)


class NodeEndpoint(Struct):
    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(null="0+", default=None)


class ShareAcknowledgeResponse(Response, key=79, versions="1-2", flexible="0+"):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(null="0+", default=None)
    acquisition_lock_timeout_ms: int = int32("2+")
    responses: list[ShareAcknowledgeTopicResponse] = array(ShareAcknowledgeTopicResponse)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint)
