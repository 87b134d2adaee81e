"""The ASGI application around a router: bodies bounded, every failure an answer in JSON."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import replace
from typing import Any

from headrace.web.limits import BodyPace
from headrace.web.messages import HttpError, Request, Response, dump_json, parse_query
from headrace.web.router import Router

logger = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

BODY_BYTES_MAX = 10 * 1024 * 1024
#: After these there may be more of the body, which nobody wants to read.
_UNREAD = (408, 413)


class Application:
    """Serves a router; a subclass may look at requests first and word failures its own way."""

    def __init__(
        self,
        router: Router,
        *,
        content_type: str = "application/json",
        body_bytes_max: int = BODY_BYTES_MAX,
    ) -> None:
        self._router = router
        self._content_type = content_type
        self._body_bytes_max = body_bytes_max

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        method, path = scope["method"], scope.get("raw_path", b"").decode("latin-1")
        try:
            response = await self.answer(self._request(scope, receive, path), path)
        except HttpError as error:
            response = self.failure(error)
            if error.status == 405:
                allowed = ", ".join(self._router.methods(path))
                response = replace(response, headers=(("Allow", allowed),))
            elif error.status in _UNREAD:
                response = replace(response, headers=(("Connection", "close"),))
        except Exception:  # the edge of one request: nothing but an answer leaves it
            logger.exception("%s %s failed", method, path)
            response = self.failure(HttpError(500, "Internal Server Error"))
        await _send(response, send, with_body=method != "HEAD")

    async def answer(self, request: Request, path: str) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        handler, request.params = self._router.find(method, path)
        return await handler(request)

    def failure(self, error: HttpError) -> Response:
        body = dump_json({"error_code": error.code, "message": error.message})
        return Response(body, error.status, self._content_type)

    def _request(self, scope: Scope, receive: Receive, path: str) -> Request:
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        query = scope["query_string"].decode("latin-1")
        try:
            parsed = parse_query(query)
        except ValueError:
            raise HttpError(400, "The query has too many parameters") from None
        return Request(
            scope["method"],
            f"{path}?{query}" if query else path,
            headers,
            parsed,
            lambda: self._read_body(headers, receive),
        )

    async def _read_body(self, headers: MutableMapping[str, str], receive: Receive) -> bytes:
        limit, pace = self._body_bytes_max, BodyPace()
        told = headers.get("content-length", "")
        if told.isdecimal() and int(told) > limit:
            raise HttpError(413, f"The body is larger than {limit} bytes")
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise HttpError(400, "The request was broken off")
            body += message.get("body", b"")
            if len(body) > limit:
                raise HttpError(413, f"The body is larger than {limit} bytes")
            if not pace.is_kept(len(body)):
                raise HttpError(408, "The body comes too slowly")
            if not message.get("more_body"):
                return bytes(body)


async def _send(response: Response, send: Send, *, with_body: bool) -> None:
    headers = [
        (b"content-type", response.content_type.encode("latin-1")),
        (b"content-length", str(len(response.body)).encode()),
    ]
    headers += [(k.lower().encode("latin-1"), v.encode("latin-1")) for k, v in response.headers]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": response.body if with_body else b""})
