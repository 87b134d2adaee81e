"""DescribeGroups (API key 15): state and members of classic groups."""

from __future__ import annotations

from headrace.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    binary,
    boolean,
    int16,
    int32,
    string,
)


class DescribeGroupsRequest(Request, key=15, versions="0-6", flexible="5+"):
    groups: list[str] = array(string)
    include_authorized_operations: bool = boolean("3+")


class DescribedGroupMember(Struct):
    member_id: str = string()
    group_instance_id: str | None = string("4+", null="4+", default=None)
    client_id: str = string()
    client_host: str = string()
    member_metadata: bytes = binary()
    member_assignment: bytes = binary()


class DescribedGroup(Struct):
    error_code: int = int16()
    error_message: str | None = string("6+", null="6+", default=None)
    group_id: str = string()
    group_state: str = string()
    protocol_type: str = string()
    protocol_data: str = string()
    members: list[DescribedGroupMember] = array(DescribedGroupMember)
    authorized_operations: int = int32("3+", default=-(2**31))


class DescribeGroupsResponse(Response, key=15, versions="0-6", flexible="5+"):
    throttle_time_ms: int = int32("1+")
    groups: list[DescribedGroup] = array(DescribedGroup)
