"""SaslHandshake (API key 17): picks the SASL mechanism of a connection."""

from __future__ import annotations

from headrace.protocol.schema import Request, Response, array, int16, string


class SaslHandshakeRequest(Request, key=17, versions="0-1", flexible="none"):
    mechanism: str = string()


class SaslHandshakeResponse(Response, key=17, versions="0-1", flexible="none"):
    error_code: int = int16()
    mechanisms: list[str] = array(string)
