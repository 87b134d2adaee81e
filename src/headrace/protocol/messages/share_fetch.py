"""ShareFetch (API key 78): a member of a share group acquires records (KIP-932)."""

from __future__ import annotations

from headrace.protocol.schema import (
    RecordBytes,
    Request,
    Response,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    int64,
    records,
    string,
    struct,
    uuid,
)


class AcknowledgementBatch(Struct):
    first_offset: int = int64()
    last_offset: int = int64()
    acknowledge_types: list[int] = array(int8)


class FetchPartition(Struct):
    partition_index: int = int32()
    partition_max_bytes: int = int32("0")
    acknowledgement_batches: list[AcknowledgementBatch] = array(AcknowledgementBatch)


class FetchTopic(Struct):
    topic_id: bytes = uuid()
    partitions: list[FetchPartition] = array(FetchPartition)


class ForgottenTopic(Struct):
    topic_id: bytes = uuid()
    partitions: list[int] = array(int32)


class ShareFetchRequest(Request, key=78, versions="1-2", flexible="0+"):
    group_id: str | None = string(null="0+", default=None)
    member_id: str | None = string(null="0+")
    share_session_epoch: int = int32()
    max_wait_ms: int = int32()
    min_bytes: int = int32()
    max_bytes: int = int32(default=2**31 - 1)
    max_records: int = int32("1+")
    batch_size: int = int32("1+")
    share_acquire_mode: int = int8("2+")
    is_renew_ack: bool = boolean("2+")
    topics: list[FetchTopic] = array(FetchTopic)
    forgotten_topics_data: list[ForgottenTopic] = array(ForgottenTopic)


class LeaderIdAndEpoch(Struct):
    leader_id: int = int32()
    leader_epoch: int = int32()


class AcquiredRecords(Struct):
    first_offset: int = int64()
    last_offset: int = int64()
    delivery_count: int = int16()


class PartitionData(Struct):
    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(null="0+", default=None)
    acknowledge_error_code: int = int16()
    acknowledge_error_message: str | None = string(null="0+", default=None)
    current_leader: LeaderIdAndEpoch = struct(LeaderIdAndEpoch)
    records: RecordBytes | None = records(null="0")
    acquired_records: list[AcquiredRecords] = array(AcquiredRecords)


class ShareFetchableTopicResponse(Struct):
    topic_id: bytes = uuid()
    partitions: list[PartitionData] = array(PartitionData)


class NodeEndpoint(Struct):
    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(null="0+", default=None)


class ShareFetchResponse(Response, key=78, versions="1-2", flexible="0+"):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(null="0+", default=None)
    acquisition_lock_timeout_ms: int = int32("1+")
    responses: list[ShareFetchableTopicResponse] = array(ShareFetchableTopicResponse)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint)
