"""UpdateRaftVoter (API key 82): updates the addresses of a controller (KIP-853)."""

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
    uint16,
    uuid,
)


class Listener(Struct):
    name: str = string()
    host: str = string()
    port: int = uint16()


class KRaftVersionFeature(Struct):
    min_supported_version: int = int16()
    max_supported_version: int = int16()


class UpdateRaftVoterRequest(Request, key=82, versions="0", flexible="0+"):
    cluster_id: str | None = string(null="0+")
    current_leader_epoch: int = int32()
    voter_id: int = int32()
    voter_directory_id: bytes = uuid()
    listeners: list[Listener] = array(Listener)
    k_raft_version_feature: KRaftVersionFeature = struct(KRaftVersionFeature)


class CurrentLeader(Struct):
    leader_id: int = int32(default=-1)
    leader_epoch: int = int32(default=-1)
    host: str = string()
    port: int = int32()


class UpdateRaftVoterResponse(Response, key=82, versions="0", flexible="0+"):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    current_leader: CurrentLeader = struct(CurrentLeader, tag=0)
