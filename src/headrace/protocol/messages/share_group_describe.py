"""ShareGroupDescribe (API key 77): state and members of share groups (KIP-932)."""

from __future__ import annotations

from headrace.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    string,
    struct,
    uuid,
)


class ShareGroupDescribeRequest(Request, key=77, versions="1", flexible="0+"):
    group_ids: list[str] = array(string)
    include_authorized_operations: bool = boolean()


class TopicPartitions(Struct):
    topic_id: bytes = uuid()
    topic_name: str = string()
    partitions: list[int] = array(int32)


class Assignment(Struct):
    topic_partitions: list[TopicPartitions] = array(TopicPartitions)


class Member(Struct):
    member_id: str = string()
    rack_id: str | None = string(null="0+", default=None)
    member_epoch: int = int32()
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: list[str] = array(string)
    assignment: Assignment = struct(Assignment)


class DescribedGroup(Struct):
    error_code: int = int16()
    error_message: str | None = string(null="0+", default=None)
    group_id: str = string()
    group_state: str = string()
    group_epoch: int = int32()
    assignment_epoch: int = int32()
    assignor_name: str = string()
    members: list[Member] = array(Member)
    authorized_operations: int = int32(default=-(2**31))


class ShareGroupDescribeResponse(Response, key=77, versions="1", flexible="0+"):
    throttle_time_ms: int = int32()
    groups: list[DescribedGroup] = array(DescribedGroup)
