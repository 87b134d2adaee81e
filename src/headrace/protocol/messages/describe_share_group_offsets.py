"""DescribeShareGroupOffsets (API key 90): how far share groups have read (KIP-932)."""

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


class DescribeShareGroupOffsetsRequestTopic(Struct):
    topic_name: str = string()
    partitions: list[int] = array(int32)


class DescribeShareGroupOffsetsRequestGroup(Struct):
    group_id: str = string()
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = array(
        DescribeShareGroupOffsetsRequestTopic, null="0+"
    )


class DescribeShareGroupOffsetsRequest(Request, key=90, versions="0-1", flexible="0+"):
    groups: list[DescribeShareGroupOffsetsRequestGroup] = array(
        DescribeShareGroupOffsetsRequestGroup
    )


class DescribeShareGroupOffsetsResponsePartition(Struct):
    partition_index: int = int32()
    start_offset: int = int64()
    leader_epoch: int = int32()
    lag: int = int64("1+", default=-1)
    error_code: int = int16()
    error_message: str | None = string(null="0+", default=None)


class DescribeShareGroupOffsetsResponseTopic(Struct):
    topic_name: str = string()
    topic_id: bytes = uuid()
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = array(
        DescribeShareGroupOffsetsResponsePartition
    )


class DescribeShareGroupOffsetsResponseGroup(Struct):
    group_id: str = string()
    topics: list[DescribeShareGroupOffsetsResponseTopic] = array(
        DescribeShareGroupOffsetsResponseTopic
    )
    error_code: int = int16()
    error_message: str | None = string(null="0+", default=None)


class DescribeShareGroupOffsetsResponse(Response, key=90, versions="0-1", flexible="0+"):
    throttle_time_ms: int = int32()
    groups: list[DescribeShareGroupOffsetsResponseGroup] = array(
        DescribeShareGroupOffsetsResponseGroup
    )
