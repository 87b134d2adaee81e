"""A few pages over HTTP/1.1 for machines that watch a node: metrics and health.

It answers GET and HEAD for a fixed set of paths, one request a connection, and nothing a caller
does can hold more than one small buffer or keep a connection for longer than the time-out. Who
connects and asks nothing makes way for those who ask.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

logger = logging.getLogger(__name__)

_HEAD_BYTES_MAX = 8192
_CONNECTIONS_MAX = 32
_HEAD_TIMEOUT_S = 5.0
_RESPONSE_TIMEOUT_S = 30.0
_END_OF_HEAD = b"\r\n\r\n"
PLAIN_TEXT = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Answer:
    """A page, or why there is none."""

    status: HTTPStatus
    body: bytes
    content_type: str = PLAIN_TEXT
    headers: tuple[tuple[str, str], ...] = ()

    @classmethod
    def text(cls, status: HTTPStatus, sentence: str) -> Answer:
        return cls(status, f"{sentence}\n".encode())


Page = Callable[[], Awaitable[Answer]]


class StatusServer:
    """Serves pages on a socket that is bound already."""

    def __init__(self, sock: socket.socket, pages: Mapping[str, Page]) -> None:
        self._socket = sock
        self.host, self.port = sock.getsockname()[:2]
        self._pages = pages
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        #: Those of them that have not asked for anything yet, the oldest first.
        self._silent: dict[asyncio.StreamWriter, None] = {}

    async def start(self) -> None:
        self._server = await asyncio.start_server(
            self._serve, sock=self._socket, limit=_HEAD_BYTES_MAX
        )

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for writer in list(self._open):
            writer.transport.abort()
        # One turn of the loop, so that transports report their end.
        await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._open) >= _CONNECTIONS_MAX and not self._drop_a_silent_one():
            writer.transport.abort()
            return
        self._open.add(writer)
        self._silent[writer] = None
        try:
            async with asyncio.timeout(_HEAD_TIMEOUT_S):
                head = await _read_head(reader)
            self._silent.pop(writer, None)
            async with asyncio.timeout(_RESPONSE_TIMEOUT_S):
                method, answer = await self._answer(head)
                writer.writelines(_encode(answer, with_body=method != "HEAD"))
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        except (TimeoutError, OSError, asyncio.IncompleteReadError):
            writer.transport.abort()
        except Exception:  # the edge of one request
            logger.exception("a status page failed")
            writer.transport.abort()
        finally:
            self._open.discard(writer)
            self._silent.pop(writer, None)

    def _drop_a_silent_one(self) -> bool:
        """Make room at the cost of whoever has kept a connection the longest without a request."""
        oldest = next(iter(self._silent), None)
        if oldest is None:
            return False
        del self._silent[oldest]
        self._open.discard(oldest)
        oldest.transport.abort()
        return True

    async def _answer(self, head: bytes | None) -> tuple[str, Answer]:
        if head is None:
            status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            return "", Answer.text(status, f"The request is larger than {_HEAD_BYTES_MAX} bytes.")
        line = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        if len(line) != 3 or not line[2].startswith("HTTP/1."):
            return "", Answer.text(HTTPStatus.BAD_REQUEST, "This is not an HTTP/1.1 request.")
        method, target, _ = line
        if method not in ("GET", "HEAD"):
            answer = Answer(
                HTTPStatus.METHOD_NOT_ALLOWED,
                b"Only GET and HEAD are served.\n",
                headers=(("Allow", "GET, HEAD"),),
            )
            return method, answer
        page = self._pages.get(target.split("?", 1)[0])
        if page is None:
            paths = ", ".join(self._pages)
            return method, Answer.text(HTTPStatus.NOT_FOUND, f"There is only {paths}.")
        return method, await page()


async def _read_head(reader: asyncio.StreamReader) -> bytes | None:
    """The request up to its empty line; None if it is too long to be one of ours."""
    try:
        return await reader.readuntil(_END_OF_HEAD)
    except asyncio.LimitOverrunError:
        return None


def _encode(answer: Answer, *, with_body: bool) -> list[bytes]:
    headers = (
        ("Content-Type", answer.content_type),
        ("Content-Length", str(len(answer.body))),
        ("Cache-Control", "no-store"),
        ("Connection", "close"),
        *answer.headers,
    )
    lines = [f"HTTP/1.1 {answer.status.value} {answer.status.phrase}"]
    lines += [f"{name}: {value}" for name, value in headers]
    head = "\r\n".join(lines).encode("latin-1") + _END_OF_HEAD
    return [head, answer.body] if with_body else [head]
