"""An answer that is sent while the request is still being read."""

from __future__ import annotations

from collections.abc import AsyncIterator

from starlette.responses import Response
from starlette.types import Receive, Scope, Send


class StreamedAnswer(Response):
    """Starlette's own one listens for the client's end and would swallow the request's body."""

    def __init__(self, pieces: AsyncIterator[bytes], media_type: str) -> None:
        self._pieces = pieces
        self.status_code = 200
        self.media_type = media_type
        self.background = None
        self.init_headers(None)

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        headers = [header for header in self.raw_headers if header[0] not in (b"content-length",)]
        start = {"type": "http.response.start", "status": self.status_code, "headers": headers}
        await send(start)
        async for piece in self._pieces:
            if piece:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
