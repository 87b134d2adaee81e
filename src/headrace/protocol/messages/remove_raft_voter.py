"""RemoveRaftVoter (API key 81): removes a controller from the quorum (KIP-853)."""

from __future__ import annotations

from headrace.protocol.schema import Request, Response, int16, int32, string, uuid


class RemoveRaftVoterRequest(Request, key=81, versions="0", flexible="0+"):
    cluster_id: str | None = string(null="0+")
    voter_id: int = int32()
    voter_directory_id: bytes = uuid()


class RemoveRaftVoterResponse(Response, key=81, versions="0", flexible="0+"):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(null="0+")
