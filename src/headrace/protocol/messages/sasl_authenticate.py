"""SaslAuthenticate (API key 36): carries the messages of a SASL mechanism."""

from __future__ import annotations

from headrace.protocol.schema import Request, Response, binary, int16, int64, string


class SaslAuthenticateRequest(Request, key=36, versions="0-2", flexible="2+"):
    auth_bytes: bytes = binary()


class SaslAuthenticateResponse(Response, key=36, versions="0-2", flexible="2+"):
    error_code: int = int16()
    error_message: str | None = string(null="0+")
    auth_bytes: bytes = binary()
    session_lifetime_ms: int = int64("1+")
