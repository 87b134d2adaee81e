"""BrokerRegistration (API key 62): a broker joins the cluster (KIP-631)."""

from __future__ import annotations

from headrace.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    int64,
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


class BrokerRegistrationRequest(Request, key=62, versions="0-4", flexible="0+"):
    broker_id: int = int32()
    cluster_id: str = string()
    incarnation_id: bytes = uuid()
    listeners: list[Listener] = array(Listener)
    features: list[Feature] = array(Feature)
    rack: str | None = string(null="0+")
    is_migrating_zk_broker: bool = boolean("1+")
    log_dirs: list[bytes] = array(uuid, "2+")
    previous_broker_epoch: int = int64("3+", default=-1)


class BrokerRegistrationResponse(Response, key=62, versions="0-4", flexible="0+"):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    broker_epoch: int = int64(default=-1)
