"""ShareGroupHeartbeat (API key 76): a member of a share group shows that it lives (KIP-932)."""

from __future__ import annotations

from headrace.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    int16,
    int32,
    string,
    struct,
    uuid,
)


class ShareGroupHeartbeatRequest(Request, key=76, versions="1", flexible="0+"):
    group_id: str = string()
    member_id: str = string()
    member_epoch: int = int32()
    rack_id: str | None = string(null="0+", default=None)
    subscribed_topic_names: list[str] | None = array(string, null="0+", default=None)


class TopicPartitions(Struct):
    topic_id: bytes = uuid()
    partitions: list[int] = array(int32)


class Assignment(Struct):
    topic_partitions: list[TopicPartitions] = array(TopicPartitions)


class ShareGroupHeartbeatResponse(Response, key=76, versions="1", flexible="0+"):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(null="0+", default=None)
    member_id: str | None = string(null="0+", default=None)
    member_epoch: int = int32()
    heartbeat_interval_ms: int = int32()
    assignment: Assignment | None = struct(Assignment, null="0+", default=None)
