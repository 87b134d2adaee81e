"""Requests that write, handed on to the registry that leads."""

from __future__ import annotations

import asyncio
from http.client import HTTPConnection, HTTPException

from headrace.registry.errors import RegistryError, forwarding_failed, unknown_leader
from headrace.registry.http.answers import CONTENT_TYPE
from headrace.registry.kafka.identity import Identity
from headrace.web.messages import HttpError, Request, Response

#: Says that a registry sent it; such a request is not handed on again.
_MARK = "X-Forward"
_TIMEOUT_S = 60
_ANSWER_BYTES_MAX = 64 * 1024 * 1024


class Forwarder:
    """One connection per request: writes are few."""

    async def forward(self, request: Request, leader: Identity) -> Response:
        """The leader's own answer; an error of ours if there is none."""
        if _MARK.lower() in request.headers:
            raise _as_http(unknown_leader())
        body = await request.body()
        if leader.scheme != "http":
            raise _as_http(forwarding_failed(f"The leader {leader.url} speaks {leader.scheme}"))
        try:
            return await asyncio.to_thread(self._send, request, body, leader)
        except (OSError, HTTPException) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            text = f"The request could not be handed on to the leader {leader.url}: {reason}"
            raise _as_http(forwarding_failed(text)) from error

    @staticmethod
    def _send(request: Request, body: bytes, leader: Identity) -> Response:
        connection = HTTPConnection(leader.host, leader.port, timeout=_TIMEOUT_S)
        headers = {
            _MARK: "true",
            "Content-Type": request.headers.get("content-type", CONTENT_TYPE),
            "Accept": CONTENT_TYPE,
        }
        try:
            connection.request(request.method, request.target, body or None, headers)
            answer = connection.getresponse()
            content = answer.read(_ANSWER_BYTES_MAX)
            kind = answer.getheader("Content-Type", CONTENT_TYPE)
            return Response(content, answer.status, kind)
        finally:
            connection.close()


def _as_http(error: RegistryError) -> HttpError:
    return HttpError(error.status, error.message, error.code)
