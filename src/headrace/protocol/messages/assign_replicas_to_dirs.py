"""AssignReplicasToDirs (API key 73).

A broker tells in which directory its replicas lie (KIP-858).
"""

from __future__ import annotations

from headrace.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    int16,
    int32,
    int64,
    uuid,
)


class PartitionData(Struct):
    partition_index: int = int32()


class TopicData(Struct):
    topic_id: bytes = uuid()
    partitions: list[PartitionData] = array(PartitionData)


class DirectoryData(Struct):
    id: bytes = uuid()
    topics: list[TopicData] = array(TopicData)


class AssignReplicasToDirsRequest(Request, key=73, versions="0", flexible="0+"):
    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    directories: list[DirectoryData] = array(DirectoryData)


class ResponsePartitionData(Struct):
    partition_index: int = int32()
    error_code: int = int16()


class ResponseTopicData(Struct):
    topic_id: bytes = uuid()
    partitions: list[ResponsePartitionData] = array(ResponsePartitionData)


class ResponseDirectoryData(Struct):
    id: bytes = uuid()
    topics: list[ResponseTopicData] = array(ResponseTopicData)


class AssignReplicasToDirsResponse(Response, key=73, versions="0", flexible="0+"):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    directories: list[ResponseDirectoryData] = array(ResponseDirectoryData)
