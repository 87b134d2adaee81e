"""Bodies and content types of requests and answers."""

from __future__ import annotations

import json
from typing import Any

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from headrace.rest.errors import (
    RestError,
    bad_request,
    invalid,
    invalid_payload,
    not_acceptable,
    too_large,
    too_slow,
    unsupported_media_type,
)
from headrace.web.limits import BodyPace

V2 = "application/vnd.kafka.v2+json"
JSON = "application/json"
#: After these there may be more of the body, which nobody wants to read.
_UNREAD = (408, 413)


def v2_type(embedded: str) -> str:
    return f"application/vnd.kafka.{embedded}.v2+json"


EMBEDDED = ("binary", "json", "avro", "jsonschema", "protobuf")
V2_TYPES = {v2_type(name): name for name in EMBEDDED}


def media_types(header: str | None) -> list[str]:
    """The media types of an Accept or Content-Type header, best first, parameters dropped."""
    weighted = []
    for place, part in enumerate((header or "").split(",")):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        weight = 1.0
        for parameter in parameters:
            if parameter.startswith("q="):
                try:
                    weight = float(parameter[2:])
                except ValueError:
                    weight = 0.0
        if name:
            weighted.append((-weight, place, name.lower()))
    return [name for weight, _, name in sorted(weighted) if weight < 0]


def answer_type(request: Request, *offered: str) -> str:
    """Which of the offered types the client accepts; it is the API's first without a wish."""
    accepted = media_types(request.headers.get("accept")) or ["*/*"]
    for name in accepted:
        if name in ("*/*", "application/*"):
            return offered[0]
        if name in offered:
            return name
    raise not_acceptable()


def content_type(request: Request) -> str:
    types = media_types(request.headers.get("content-type"))
    return types[0] if types else ""


def require_json(request: Request) -> None:
    """For bodies of v3, and of v2 where no records are embedded."""
    kind = content_type(request)
    if kind not in ("", JSON, V2) and kind not in V2_TYPES:
        raise unsupported_media_type()


async def read_body(request: Request, limit: int) -> bytes:
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > limit:
        raise too_large(limit)
    chunks, size, pace = [], 0, BodyPace()
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > limit:
                raise too_large(limit)
            if not pace.is_kept(size):
                raise too_slow()
            chunks.append(chunk)
    except ClientDisconnect as error:
        raise bad_request("The client went away.") from error
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def parse_json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except ValueError as error:
        # Integers beyond 64 bits are JSON that the quick parser does not read.
        try:
            value = json.loads(body, parse_constant=_no_constant)
            json.dumps(value, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            raise bad_request(f"The request body is not JSON: {error}") from error
        return value


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


async def read_object(request: Request, limit: int, *, empty: bool = False) -> dict[str, Any]:
    """The body as a JSON object; without one `{}` if `empty` says so."""
    require_json(request)
    body = await read_body(request, limit)
    if not body.strip():
        if empty:
            return {}
        raise invalid_payload("Request body is empty. Data is required.")
    value = parse_json(body)
    if not isinstance(value, dict):
        raise invalid("The request body must be a JSON object.")
    return value


def json_answer(value: Any, media_type: str = JSON, status: int = 200) -> Response:
    return Response(orjson.dumps(value), status, media_type=media_type)


def error_answer(error: RestError, media_type: str = JSON) -> Response:
    body = {"error_code": error.code, "message": error.message}
    answer = json_answer(body, media_type, error.status)
    if error.status in _UNREAD:
        answer.headers["Connection"] = "close"
    return answer
