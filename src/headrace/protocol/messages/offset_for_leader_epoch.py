"""OffsetForLeaderEpoch (API key 23): where a leader epoch ends in the log."""

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
)


class OffsetForLeaderPartition(Struct):
    partition: int = int32()
    current_leader_epoch: int = int32("2+", default=-1)
    leader_epoch: int = int32()


class OffsetForLeaderTopic(Struct):
    topic: str = string()
    partitions: list[OffsetForLeaderPartition] = array(OffsetForLeaderPartition)


class OffsetForLeaderEpochRequest(Request, key=23, versions="2-4", flexible="4+"):
    replica_id: int = int32("3+", default=-2)
    topics: list[OffsetForLeaderTopic] = array(OffsetForLeaderTopic)


class EpochEndOffset(Struct):
    error_code: int = int16()
    partition: int = int32()
    leader_epoch: int = int32("1+", default=-1)
    end_offset: int = int64(default=-1)


class OffsetForLeaderTopicResult(Struct):
    topic: str = string()
    partitions: list[EpochEndOffset] = array(EpochEndOffset)


class OffsetForLeaderEpochResponse(Response, key=23, versions="2-4", flexible="4+"):
    throttle_time_ms: int = int32("2+")
    topics: list[OffsetForLeaderTopicResult] = array(OffsetForLeaderTopicResult)
