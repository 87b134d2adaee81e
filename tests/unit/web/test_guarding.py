"""Clients that keep the server waiting lose their connection; those that wait for it do not."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from headrace.web import limits
from headrace.web.application import Application
from headrace.web.messages import Request, Response
from headrace.web.router import Route, Router
from headrace.web.server import WebServer, bind

HEAD = b"POST /echo HTTP/1.1\r\nHost: x\r\n"
PATIENCE_S = 20


async def echo(request: Request) -> Response:
    return Response(await request.body())


def served(test: Callable[[int], Awaitable[None]], idle_timeout_ms: int = 100) -> None:
    """Run a test against a server on the port that it is told."""

    async def run() -> None:
        application = Application(Router([Route("POST", "/echo", echo)]), body_bytes_max=100_000)
        sockets = bind("http://127.0.0.1:0")
        server = WebServer(application, sockets, idle_timeout_ms=idle_timeout_ms)
        await server.start()
        try:
            await test(server.ports[0])
        finally:
            await server.stop()

    asyncio.run(run())


async def rest_of(port: int, *pieces: bytes) -> bytes:
    """Everything that comes until the server closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
    async with asyncio.timeout(PATIENCE_S):
        try:
            return await reader.read()
        except ConnectionResetError:
            return b"reset"
        finally:
            writer.close()


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST /ec",
        HEAD,
        HEAD + b"Content-Length: 5\r\n\r\n",
        HEAD + b"Content-Length: 5\r\n\r\nab",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
    ],
)
def test_a_request_that_does_not_go_on_is_given_up(sent: bytes) -> None:
    async def test(port: int) -> None:
        assert await rest_of(port, sent) in (b"", b"reset")

    served(test)


def test_a_second_request_that_does_not_go_on_is_given_up_after_the_first_one_s_answer() -> None:
    async def test(port: int) -> None:
        first = HEAD + b"Content-Length: 2\r\n\r\nhi"
        assert (await rest_of(port, first, b"POST /ec")).endswith(b"\r\n\r\nhi")

    served(test)


def test_a_head_without_an_end_is_refused() -> None:
    async def test(port: int) -> None:
        for endless in (b"X: y\r\n" * 20_000, b"X: " + b"y" * 200_000, b"/" * 200_000):
            answer = await rest_of(port, HEAD + endless)
            assert answer.startswith((b"HTTP/1.1 431 ", b"HTTP/1.1 400 ", b"reset"))

    served(test, idle_timeout_ms=60_000)


def test_a_body_that_is_too_large_or_too_slow_ends_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test(port: int) -> None:
        large = await rest_of(port, HEAD + b"Content-Length: 100001\r\n\r\n")
        assert large.startswith(b"HTTP/1.1 413 ")
        monkeypatch.setattr(limits, "_START_S", -1.0)
        slow = await rest_of(port, HEAD + b"Content-Length: 3\r\n\r\na", b"b")
        assert slow.startswith(b"HTTP/1.1 408 ")

    served(test, idle_timeout_ms=60_000)


def test_whoever_waits_for_the_server_is_left_alone() -> None:
    async def test(port: int) -> None:
        others_are_gone = asyncio.Event()

        async def wait(request: Request) -> Response:
            await others_are_gone.wait()
            return Response(b"done")

        application = Application(Router([Route("GET", "/wait", wait)]))
        server = WebServer(application, bind("http://127.0.0.1:0"), idle_timeout_ms=100)
        await server.start()
        get = b"GET /wait HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        waiting = asyncio.create_task(rest_of(server.ports[0], get))
        assert await rest_of(server.ports[0], HEAD) in (b"", b"reset")
        others_are_gone.set()
        assert (await waiting).endswith(b"done")
        await server.stop()

    served(test)
