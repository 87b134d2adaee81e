"""The headers in front of every request and response."""

from __future__ import annotations

from headrace.protocol.apis import ApiKey
from headrace.protocol.schema import (
    ApiMessage,
    Field,
    Message,
    Versions,
    int16,
    int32,
)


class RequestHeader(Message, versions="1-2", flexible="2+"):
    request_api_key: int = int16()
    request_api_version: int = int16()
    correlation_id: int = int32()
    # The client id keeps its old two-byte length even in flexible headers (KIP-482).
    client_id: str | None = Field("string", nullable=Versions.parse("1+"), never_flexible=True)  # type: ignore[assignment]


class ResponseHeader(Message, versions="0-1", flexible="1+"):
    correlation_id: int = int32()


def request_header_version(message: type[ApiMessage], version: int) -> int:
    return 2 if version in message.flexible else 1


def response_header_version(message: type[ApiMessage], version: int) -> int:
    """Version 0 for ApiVersions always: the client does not know yet what we speak (KIP-511)."""
    if message.api_key == ApiKey.API_VERSIONS:
        return 0
    return 1 if version in message.flexible else 0
