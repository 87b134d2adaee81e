"""ControllerRegistration (API key 70): a controller joins the cluster (KIP-919)."""

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
    security_protocol: int = int16()


class Feature(Struct):
    name: str = string()
    min_supported_version: int = int16()
    max_supported_version: int = int16()


class ControllerRegistrationRequest(Request, key=70, versions="0", flexible="0+"):
    controller_id: int = int32()
    incarnation_id: bytes = uuid()
    zk_migration_ready: bool = boolean()
    listeners: list[Listener] = array(Listener)
    features: list[Feature] = array(Feature)


class ControllerRegistrationResponse(Response, key=70, versions="0", flexible="0+"):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(null="0+")
