"""LeaveGroup (API key 13): members leave a classic group."""

from __future__ import annotations

from headrace.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    int16,
    int32,
    string,
)


class MemberIdentity(Struct):
    member_id: str = string("3+")
    group_instance_id: str | None = string("3+", null="3+", default=None)
    reason: str | None = string("5+", null="5+", default=None)


class LeaveGroupRequest(Request, key=13, versions="0-5", flexible="4+"):
    group_id: str = string()
    member_id: str = string("0-2")
    members: list[MemberIdentity] = array(MemberIdentity, "3+")


class MemberResponse(Struct):
    member_id: str = string("3+")
    group_instance_id: str | None = string("3+", null="3+")
    error_code: int = int16("3+")


class LeaveGroupResponse(Response, key=13, versions="0-5", flexible="4+"):
    throttle_time_ms: int = int32("1+")
    error_code: int = int16()
    members: list[MemberResponse] = array(MemberResponse, "3+")
