"""InitializeShareGroupState (API key 83): creates the state of a share partition (KIP-932)."""

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


class PartitionData(Struct):
    partition: int = int32()
    state_epoch: int = int32()
    start_offset: int = int64()


class InitializeStateData(Struct):
    topic_id: bytes = uuid()
    partitions: list[PartitionData] = array(PartitionData)


class InitializeShareGroupStateRequest(Request, key=83, versions="0", flexible="0+"):
    group_id: str = string()
    topics: list[InitializeStateData] = array(InitializeStateData)


class PartitionResult(Struct):
    partition: int = int32()
    error_code: int = int16()
    error_message: str | None = string(null="0+", default=None)


class InitializeStateResult(Struct):
    topic_id: bytes = uuid()
    partitions: list[PartitionResult] = array(PartitionResult)


class InitializeShareGroupStateResponse(Response, key=83, versions="0", flexible="0+"):
    results: list[InitializeStateResult] = array(InitializeStateResult)
