"""WriteShareGroupState (API key 85): writes the state of a share partition (KIP-932)."""

from __future__ import annotations

from headrace.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    int8,
    int16,
    int32,
    int64,
    string,
    uuid,
)


class StateBatch(Struct):
    first_offset: int = int64()
    last_offset: int = int64()
    delivery_state: int = int8()
    delivery_count: int = int16()


class PartitionData(Struct):
    partition: int = int32()
    state_epoch: int = int32()
    leader_epoch: int = int32()
    start_offset: int = int64()
    delivery_complete_count: int = int32("1+", default=-1)
    state_batches: list[StateBatch] = array(StateBatch)


class WriteStateData(Struct):
    topic_id: bytes = uuid()
    partitions: list[PartitionData] = array(PartitionData)


class WriteShareGroupStateRequest(Request, key=85, versions="0-1", flexible="0+"):
    group_id: str = string()
    topics: list[WriteStateData] = array(WriteStateData)


class PartitionResult(Struct):
    partition: int = int32()
    error_code: int = int16()
    error_message: str | None = string(null="0+", default=None)


class WriteStateResult(Struct):
    topic_id: bytes = uuid()
    partitions: list[PartitionResult] = array(PartitionResult)


class WriteShareGroupStateResponse(Response, key=85, versions="0-1", flexible="0+"):
    results: list[WriteStateResult] = array(WriteStateResult)
