"""AddRaftVoter (API key 80): adds a controller to the quorum (KIP-853)."""

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
    uint16,
    uuid,
)


class Listener(Struct):
    name: str = string()
    host: str = string()
    port: int = uint16()


class AddRaftVoterRequest(Request, key=80, versions="0-1", flexible="0+"):
    cluster_id: str | None = string(null="0+")
    timeout_ms: int = int32()
    voter_id: int = int32()
    voter_directory_id: bytes = uuid()
    listeners: list[Listener] = array(Listener)
    ack_when_committed: bool = boolean("1+", default=True)


class AddRaftVoterResponse(Response, key=80, versions="0-1", flexible="0+"):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(null="0+")
