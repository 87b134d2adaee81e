"""BrokerHeartbeat (API key 63): a broker shows that it lives and asks for its state (KIP-631)."""

from __future__ import annotations

from headrace.protocol.schema import (
    Request,
    Response,
    array,
    boolean,
    int16,
    int32,
    int64,
    uuid,
)


class BrokerHeartbeatRequest(Request, key=63, versions="0-2", flexible="0+"):
    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    current_metadata_offset: int = int64()
    want_fence: bool = boolean()
    want_shut_down: bool = boolean()
    offline_log_dirs: list[bytes] = array(uuid, "1+", tag=0)
    cordoned_log_dirs: list[bytes] | None = array(uuid, "2+", null="2+", tag=1, default=None)


class BrokerHeartbeatResponse(Response, key=63, versions="0-2", flexible="0+"):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    is_caught_up: bool = boolean()
    is_fenced: bool = boolean(default=True)
    should_shut_down: bool = boolean()
