"""DeleteShareGroupState (API key 86): deletes the state of a share partition (KIP-932)."""

from __future__ import annotations

from headrace.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    int16,
    int32,
    string,
    uuid,
)


class PartitionData(Struct):
    partition: int = int32()


class DeleteStateData(Struct):
    topic_id: bytes = uuid()
    partitions: list[PartitionData] = array(PartitionData)


class DeleteShareGroupStateRequest(Request, key=86, versions="0", flexible="0+"):
    group_id: str = string()
    topics: list[DeleteStateData] = array(DeleteStateData)


class PartitionResult(Struct):
    partition: int = int32()
    error_code: int = int16()
    error_message: str | None = string(null="0+", default=None)


class DeleteStateResult(Struct):
    topic_id: bytes = uuid()
    partitions: list[PartitionResult] = array(PartitionResult)


class DeleteShareGroupStateResponse(Response, key=86, versions="0", flexible="0+"):
    results: list[DeleteStateResult] = array(DeleteStateResult)
