"""Requests as the bytes that come in, responses as the bytes that go out."""

from struct import pack
from typing import Any

from headrace.broker.parked import Close, Parked
from headrace.protocol.apis import ApiKey, message_classes
from headrace.protocol.compiler import decode, encode
from headrace.protocol.headers import (
    RequestHeader,
    ResponseHeader,
    request_header_version,
    response_header_version,
)
from headrace.protocol.schema import Field, Request, Response, Struct


class Exchange:
    """One request and what became of it."""

    def __init__(self, request: Request, version: int) -> None:
        self.request = request
        self.version = version
        self.parked: Parked | None = None
        self.raw: list[bytes | Close | None] = []

    @property
    def is_answered(self) -> bool:
        return bool(self.raw)

    @property
    def response(self) -> Any:
        """The decoded response; None for acks=0; `Close` for the end of the connection."""
        assert len(self.raw) == 1, f"{len(self.raw)} replies"
        raw = self.raw[0]
        if raw is None or isinstance(raw, Close):
            return raw
        return decode_response(type(self.request).api_key, self.version, raw)[1]

    def take(self, reply: Any) -> None:
        self.raw.append(b"".join(reply) if isinstance(reply, list) else reply)


def request_frame(
    request: Request, version: int, *, correlation_id: int = 77, client_id: str | None = "tester"
) -> bytes:
    """Header and request, as the connection hands them to the dispatcher."""
    cls = type(request)
    header = RequestHeader(
        request_api_key=cls.api_key,
        request_api_version=version,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    return encode(header, request_header_version(cls, version)) + encode(request, version)


def decode_response(key: int, version: int, raw: bytes) -> tuple[int, Response]:
    """(correlation id, response) of what went out, whose length must be what it says."""
    response_class = message_classes(ApiKey(key))[1]
    assert raw[:4] == pack(">i", len(raw) - 4)
    header_version = response_header_version(response_class, version)
    size = 4 + len(encode(ResponseHeader(), header_version))
    header = decode(ResponseHeader, header_version, raw[4:size])
    return header.correlation_id, decode(response_class, version, raw[size:])


def error_codes(struct: Struct) -> set[int]:
    """Every error code in a response, wherever it is."""
    found: set[int] = set()
    for name, field in struct.fields.items():
        value = getattr(struct, name)
        if name in ("error_code", "partition_error_code") and value:
            found.add(value)
        elif field.kind == "struct" and value is not None:
            found |= error_codes(value)
        elif field.kind == "array" and _holds_structs(field):
            for item in value or ():
                found |= error_codes(item)
    return found


def _holds_structs(field: Field) -> bool:
    return field.element is not None and field.element.struct is not None
