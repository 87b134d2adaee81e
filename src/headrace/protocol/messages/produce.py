"""Produce (API key 0): a client appends record batches to partitions.

Version 3 brought batch format 2, 7 zstd, 8 errors per record (KIP-467), 9 flexible encoding,
10 the new leader in the answer (KIP-951), 11 and 12 transactions without a separate
AddPartitionsToTxn (KIP-890), 13 topic ids (KIP-516).
"""

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
    uuid,
)


class PartitionProduceData(Struct):
    index: int = int32()
    records: RecordBytes | None = records(null="0+")


class TopicProduceData(Struct):
    name: str = string("0-12")
    topic_id: bytes = uuid("13+")
    partition_data: list[PartitionProduceData] = array(PartitionProduceData)


class ProduceRequest(Request, key=0, versions="3-13", flexible="9+"):
    transactional_id: str | None = string("3+", null="3+", default=None)
    acks: int = int16()
    timeout_ms: int = int32()
    topic_data: list[TopicProduceData] = array(TopicProduceData)


class BatchIndexAndErrorMessage(Struct):
    batch_index: int = int32("8+")
    batch_index_error_message: str | None = string("8+", null="8+", default=None)


class LeaderIdAndEpoch(Struct):
    leader_id: int = int32("10+", default=-1)
    leader_epoch: int = int32("10+", default=-1)


class PartitionProduceResponse(Struct):
    index: int = int32()
    error_code: int = int16()
    base_offset: int = int64()
    log_append_time_ms: int = int64("2+", default=-1)
    log_start_offset: int = int64("5+", default=-1)
    record_errors: list[BatchIndexAndErrorMessage] = array(BatchIndexAndErrorMessage, "8+")
    error_message: str | None = string("8+", null="8+", default=None)
    current_leader: LeaderIdAndEpoch = struct(LeaderIdAndEpoch, "10+", tag=0)


class TopicProduceResponse(Struct):
    name: str = string("0-12")
    topic_id: bytes = uuid("13+")
    partition_responses: list[PartitionProduceResponse] = array(PartitionProduceResponse)


class NodeEndpoint(Struct):
    node_id: int = int32("10+")
    host: str = string("10+")
    port: int = int32("10+")
    rack: str | None = string("10+", null="10+", default=None)


class ProduceResponse(Response, key=0, versions="3-13", flexible="9+"):
    responses: list[TopicProduceResponse] = array(TopicProduceResponse)
    throttle_time_ms: int = int32("1+")
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, "10+", tag=0)
