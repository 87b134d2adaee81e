"""SyncGroup (API key 14): members of a classic group receive their assignment."""

from __future__ import annotations

from headrace.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    binary,
    int16,
    int32,
    string,
)


class SyncGroupRequestAssignment(Struct):
    member_id: str = string()
    assignment: bytes = binary()


class SyncGroupRequest(Request, key=14, versions="0-5", flexible="4+"):
    group_id: str = string()
    generation_id: int = int32()
    member_id: str = string()
    group_instance_id: str | None = string("3+", null="3+", default=None)
    protocol_type: str | None = string("5+", null="5+", default=None)
    protocol_name: str | None = string("5+", null="5+", default=None)
    assignments: list[SyncGroupRequestAssignment] = array(SyncGroupRequestAssignment)


class SyncGroupResponse(Response, key=14, versions="0-5", flexible="4+"):
    throttle_time_ms: int = int32("1+")
    error_code: int = int16()
    protocol_type: str | None = string("5+", null="5+", default=None)
    protocol_name: str | None = string("5+", null="5+", default=None)
    assignment: bytes = binary()
