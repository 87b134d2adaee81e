"""The status server: small, and not to be impressed by anybody."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from http import HTTPStatus

import pytest

from headrace.server import http_status
from headrace.server.http_status import Answer, StatusServer
from headrace.server.sockets import bind


async def hello() -> Answer:
    return Answer.text(HTTPStatus.OK, "hello")


async def broken() -> Answer:
    raise ValueError("a bug")


def run(story: Callable[[StatusServer], Awaitable[None]]) -> None:
    """Play a story on a running server; nothing is left behind."""

    async def play() -> None:
        server = StatusServer(bind("127.0.0.1", 0), {"/hello": hello, "/broken": broken})
        await server.start()
        try:
            await story(server)
        finally:
            await server.stop()

    asyncio.run(play())


async def send(server: StatusServer, request: bytes) -> bytes:
    """Everything that comes back until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(request)
    answer = bytearray()
    try:
        while part := await reader.read(65536):
            answer += part
    except ConnectionResetError:
        pass
    finally:
        writer.close()
    return bytes(answer)


async def get(server: StatusServer, path: str, method: str = "GET") -> tuple[str, bytes, bytes]:
    """Status line, headers and body."""
    answer = await send(server, f"{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    head, _, body = answer.partition(b"\r\n\r\n")
    status, _, headers = head.partition(b"\r\n")
    return status.decode(), headers, body


def test_a_page_comes_with_its_length_and_the_connection_closes() -> None:
    async def story(server: StatusServer) -> None:
        status, headers, body = await get(server, "/hello")
        assert status == "HTTP/1.1 200 OK"
        assert body == b"hello\n"
        assert b"Content-Length: 6\r\n" in headers
        assert b"Connection: close" in headers

    run(story)


def test_head_is_the_same_without_a_body() -> None:
    async def story(server: StatusServer) -> None:
        status, headers, body = await get(server, "/hello", "HEAD")
        assert status == "HTTP/1.1 200 OK"
        assert b"Content-Length: 6" in headers
        assert body == b""

    run(story)


def test_a_query_does_not_matter() -> None:
    async def story(server: StatusServer) -> None:
        assert (await get(server, "/hello?verbose=1"))[0] == "HTTP/1.1 200 OK"

    run(story)


def test_an_unknown_path_names_those_there_are() -> None:
    async def story(server: StatusServer) -> None:
        status, _, body = await get(server, "/metric")
        assert status == "HTTP/1.1 404 Not Found"
        assert b"/hello, /broken" in body

    run(story)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_other_methods_are_refused(method: str) -> None:
    async def story(server: StatusServer) -> None:
        status, headers, _ = await get(server, "/hello", method)
        assert status == "HTTP/1.1 405 Method Not Allowed"
        assert b"Allow: GET, HEAD" in headers

    run(story)


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"hello\r\n\r\n",
        b"GET /hello\r\n\r\n",
        b"GET /hello HTTP/2.0\r\n\r\n",
        b"GET  /hello HTTP/1.1\r\n\r\n",
        b"\x00\x00\x00\x17\x00\x03\x00\x0c\r\n\r\n",
    ],
)
def test_what_is_not_http_is_told_so(request_bytes: bytes) -> None:
    async def story(server: StatusServer) -> None:
        assert (await send(server, request_bytes)).startswith(b"HTTP/1.1 400 ")

    run(story)


def test_headers_without_end_are_cut_off() -> None:
    async def story(server: StatusServer) -> None:
        endless = b"GET /hello HTTP/1.1\r\nX: " + b"x" * 8192
        assert (await send(server, endless)).startswith(b"HTTP/1.1 431 ")

    run(story)


def test_a_page_that_fails_costs_its_reader_only(caplog: pytest.LogCaptureFixture) -> None:
    async def story(server: StatusServer) -> None:
        assert await send(server, b"GET /broken HTTP/1.1\r\n\r\n") == b""
        assert (await get(server, "/hello"))[2] == b"hello\n"

    run(story)
    assert "a status page failed" in caplog.text


def test_a_caller_that_says_nothing_is_shown_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_status, "_HEAD_TIMEOUT_S", 0.01)

    async def story(server: StatusServer) -> None:
        assert await send(server, b"GET /hello HT") == b""

    run(story)


def test_silent_callers_make_way_for_those_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_status, "_CONNECTIONS_MAX", 2)

    async def story(server: StatusServer) -> None:
        silent = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(5)]
        for _ in range(3):
            assert (await get(server, "/hello"))[2] == b"hello\n"
        for reader, writer in silent[:4]:  # the oldest went first
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""
            writer.close()
        reader, writer = silent[4]
        writer.write(b"GET /hello HTTP/1.1\r\n\r\n")
        assert (await reader.read()).endswith(b"hello\n")
        writer.close()

    run(story)


def test_callers_that_asked_are_not_sent_away_for_later_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_status, "_CONNECTIONS_MAX", 1)

    async def play() -> None:
        asked, may_answer = asyncio.Event(), asyncio.Event()

        async def slow() -> Answer:
            asked.set()
            await may_answer.wait()
            return Answer.text(HTTPStatus.OK, "slow")

        server = StatusServer(bind("127.0.0.1", 0), {"/slow": slow})
        await server.start()
        first = asyncio.create_task(get(server, "/slow"))
        await asked.wait()
        assert await send(server, b"GET /slow HTTP/1.1\r\n\r\n") == b""
        may_answer.set()
        assert (await first)[2] == b"slow\n"
        await server.stop()

    asyncio.run(play())


def test_stopping_ends_callers_that_wait() -> None:
    async def play() -> None:
        server = StatusServer(bind("127.0.0.1", 0), {"/hello": hello})
        await server.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        assert (await get(server, "/hello"))[2] == b"hello\n"
        await server.stop()
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", server.port)

    asyncio.run(play())
