"""AlterShareGroupOffsets (API key 91): sets how far a share group has read (KIP-932)."""

from __future__ import annotations

from headrace.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    int16,
    int32,
    int64,
    string,
    uuid,
)


class AlterShareGroupOffsetsRequestPartition(Struct):
    partition_index: int = int32()
    start_offset: int = int64()


class AlterShareGroupOffsetsRequestTopic(Struct):
    topic_name: str = string()
    partitions: list[AlterShareGroupOffsetsRequestPartition] = array(
        AlterShareGroupOffsetsRequestPartition
    )


class AlterShareGroupOffsetsRequest(Request, key=91, versions="0", flexible="0+"):
    group_id: str = string()
    topics: list[AlterShareGroupOffsetsRequestTopic] = array(AlterShareGroupOffsetsRequestTopic)


class AlterShareGroupOffsetsResponsePartition(Struct):
    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(null="0+", default=None)


class AlterShareGroupOffsetsResponseTopic(Struct):
    topic_name: str = string()
    topic_id: bytes = uuid()
    partitions: list[AlterShareGroupOffsetsResponsePartition] = array(
        AlterShareGroupOffsetsResponsePartition
    )


class AlterShareGroupOffsetsResponse(Response, key=91, versions="0", flexible="0+"):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(null="0+", default=None)
    responses: list[AlterShareGroupOffsetsResponseTopic] = array(
        AlterShareGroupOffsetsResponseTopic
    )
