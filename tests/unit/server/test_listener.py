"""Listeners on real sockets: who is let in, who is counted, who is shown out."""

import asyncio
import errno
import socket
from asyncio.trsock import TransportSocket
from collections.abc import Awaitable, Callable
from struct import pack
from typing import Any

import pytest

from headrace.base.clock import ManualClock
from headrace.broker.authorization import AllowAll
from headrace.broker.context import ConnectionInfo
from headrace.broker.metrics import BrokerMetrics
from headrace.broker.parked import Parked
from headrace.server.connection_limits import ConnectionCounts, ConnectionLimits, ListenerCounts
from headrace.server.listener import Listener
from headrace.server.sockets import BindError, bind
from tests.unit.server.fake_transport import EchoDispatcher, framed

Peer = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Served(EchoDispatcher):
    """Also keeps what it learns about connections."""

    def __init__(self) -> None:
        super().__init__()
        self.infos: list[ConnectionInfo] = []

    def serve(self, info: ConnectionInfo, frame: memoryview, send: Any) -> Parked | None:
        self.infos.append(info)
        return super().serve(info, frame, send)


class Setup:
    """A listener on a free port."""

    def __init__(
        self, host: str = "127.0.0.1", own: ListenerCounts | None = None, **limits: Any
    ) -> None:
        self.clock = ManualClock()
        self.metrics = BrokerMetrics()
        self.dispatcher = Served()
        self.limits = ConnectionLimits(**limits)
        self.counts = ConnectionCounts(self.limits)
        dispatcher: Any = self.dispatcher
        self.listener = Listener(
            "PLAINTEXT",
            bind(host, 0),
            dispatcher=dispatcher,
            authorizer=AllowAll(),
            limits=self.limits,
            counts=self.counts,
            clock=self.clock,
            metrics=self.metrics,
            own_counts=own,
        )

    async def connect(self, host: str = "127.0.0.1") -> Peer:
        return await asyncio.open_connection(host, self.listener.port)


def run(setup: Setup, story: Callable[[Setup], Awaitable[None]]) -> None:
    """Play a story on a running listener; nothing is left behind."""

    async def play() -> None:
        await setup.listener.start()
        try:
            await story(setup)
        finally:
            await setup.listener.stop()

    asyncio.run(play())


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop turn until something has happened."""
    while not condition():  # noqa: ASYNC110 - what is waited for sets no event
        await asyncio.sleep(0)


async def ask(peer: Peer, content: bytes) -> bytes:
    reader, writer = peer
    writer.write(framed(content))
    size = int.from_bytes(await reader.readexactly(4), "big")
    return await reader.readexactly(size)


async def is_cut(peer: Peer) -> bool:
    try:
        return await peer[0].read() == b""
    except ConnectionResetError:
        return True
    finally:
        peer[1].close()


def test_a_client_is_served_and_counted_in_and_out() -> None:
    async def story(setup: Setup) -> None:
        peer = await setup.connect()
        assert await ask(peer, b"hello") == b"hello"
        assert len(setup.counts) == 1
        assert setup.metrics.connections_opened == 1
        peer[1].close()
        await peer[1].wait_closed()
        await until(lambda: setup.metrics.connections_closed == 1)
        assert len(setup.counts) == 0

    run(Setup(), story)


def test_a_system_that_refuses_a_sockets_options_costs_nobody_a_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:  # as a Mac does once the client has gone again
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(TransportSocket, "setsockopt", refuse)

    async def story(setup: Setup) -> None:
        peer = await setup.connect()
        assert await ask(peer, b"hello") == b"hello"
        peer[1].close()
        await peer[1].wait_closed()
        await until(lambda: setup.metrics.connections_closed == 1)
        assert len(setup.counts) == 0

    run(Setup(), story)


def test_a_connection_knows_which_of_our_addresses_it_reached() -> None:
    async def story(setup: Setup) -> None:
        peer = await setup.connect()
        await ask(peer, b"hello")
        info = setup.dispatcher.infos[0]
        assert (info.local_host, info.local_port) == ("127.0.0.1", setup.listener.port)
        assert info.client_host == "127.0.0.1"
        assert info.client_port == peer[1].get_extra_info("sockname")[1]
        assert info.listener == "PLAINTEXT"
        peer[1].close()

    run(Setup(), story)


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="no socket for both families here")
def test_a_client_over_ipv4_is_told_ipv4_addresses_by_a_socket_for_both() -> None:
    async def story(setup: Setup) -> None:
        peer = await setup.connect()
        await ask(peer, b"hello")
        info = setup.dispatcher.infos[0]
        assert (info.client_host, info.local_host) == ("127.0.0.1", "127.0.0.1")
        peer[1].close()

    run(Setup(host=""), story)


def test_more_connections_than_allowed_are_cut() -> None:
    async def story(setup: Setup) -> None:
        first, second = await setup.connect(), await setup.connect()
        await ask(first, b"1")
        await ask(second, b"2")
        assert await is_cut(await setup.connect())
        first[1].close()
        await until(lambda: len(setup.counts) == 1)
        third = await setup.connect()
        assert await ask(third, b"3") == b"3"
        second[1].close()
        third[1].close()

    run(Setup(connections_max=2), story)


def test_limits_by_address_have_exceptions() -> None:
    limits = ConnectionLimits(
        connections_per_ip_max=1, connections_per_ip_overrides={"10.0.0.2": 2, "10.0.0.3": 0}
    )
    counts = ConnectionCounts(limits)
    assert counts.admit("10.0.0.1", 0.0) is None
    assert counts.admit("10.0.0.1", 0.0) == "max.connections.per.ip of 1 is reached"
    assert counts.admit("10.0.0.2", 0.0) is None
    assert counts.admit("10.0.0.2", 0.0) is None
    assert counts.admit("10.0.0.3", 0.0) == "max.connections.per.ip of 0 is reached"
    counts.release("10.0.0.1")
    assert counts.admit("10.0.0.1", 0.0) is None
    assert len(counts) == 3


def test_connections_are_created_at_a_limited_rate() -> None:
    counts = ConnectionCounts(ConnectionLimits(creation_rate_max=2))
    assert counts.admit("a", 0.0) is None
    assert counts.admit("b", 500.0) is None
    assert counts.admit("c", 900.0) is not None
    assert counts.admit("d", 1_100.0) is None
    assert counts.admit("e", 1_200.0) is not None


def test_addresses_without_connections_leave_no_trace() -> None:
    counts = ConnectionCounts(ConnectionLimits())
    for number in range(100):
        counts.admit(f"10.0.0.{number}", 0.0)
        counts.release(f"10.0.0.{number}")
    assert len(counts) == 0
    assert not counts._by_host


def test_connections_that_are_silent_for_too_long_are_ended() -> None:
    async def story(setup: Setup) -> None:
        silent, waiting, lively = [await setup.connect() for _ in range(3)]
        for peer in (silent, lively):
            await ask(peer, b"hello")
        waiting[1].write(framed(b"park"))
        await until(lambda: bool(setup.dispatcher.parked))
        setup.listener.close_idle()
        setup.clock.advance(600)
        await ask(lively, b"still here")
        setup.listener.close_idle()
        setup.clock.advance(600)
        setup.listener.close_idle()
        assert await is_cut(silent)
        assert await is_cut(waiting)
        assert await ask(lively, b"and here") == b"and here"
        assert setup.dispatcher.parked[0][0].is_done
        lively[1].close()

    run(Setup(idle_ms_max=1_000), story)


def test_a_client_that_never_reads_is_held_back_and_costs_others_nothing() -> None:
    async def story(setup: Setup) -> None:
        greedy = socket.create_connection(("127.0.0.1", setup.listener.port))
        greedy.setblocking(False)
        await _send_until_stalled(greedy, framed(bytes(200_000)))
        served = len(setup.dispatcher.frames)
        peer = await setup.connect()
        assert await ask(peer, b"hello") == b"hello"
        assert len(setup.dispatcher.frames) == served + 1
        peer[1].close()
        greedy.close()

    run(Setup(), story)


async def _send_until_stalled(peer: socket.socket, request: bytes) -> None:
    """Send without ever reading, until nothing more goes out for a while."""
    stalled = 0
    while stalled < 100:
        try:
            peer.send(request)
            stalled = 0
        except BlockingIOError:
            stalled += 1
        await asyncio.sleep(0)


def test_garbage_before_the_first_request_ends_the_connection() -> None:
    async def story(setup: Setup) -> None:
        for garbage in (
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01",
            b"\xff" * 9,
        ):
            peer = await setup.connect()
            peer[1].write(garbage)
            assert await is_cut(peer)
        assert setup.dispatcher.frames == []

    run(Setup(), story)


def test_stopping_ends_every_connection() -> None:
    setup = Setup()
    peers: list[Peer] = []

    async def story(setup: Setup) -> None:
        for _ in range(3):
            peer = await setup.connect()
            await ask(peer, b"hello")
            peers.append(peer)
        peers[0][1].write(framed(b"park"))
        await until(lambda: bool(setup.dispatcher.parked))
        await setup.listener.stop()
        for peer in peers:
            assert await is_cut(peer)
        assert len(setup.counts) == 0

    run(setup, story)


def test_a_taken_port_is_one_clear_sentence() -> None:
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BindError, match=rf"^Cannot listen on 127\.0\.0\.1:{port}: .*\.$"):
            bind("127.0.0.1", port)


def test_a_frame_size_beyond_the_limit_is_not_waited_for() -> None:
    async def story(setup: Setup) -> None:
        peer = await setup.connect()
        peer[1].write(pack(">i", 1_001))
        assert await is_cut(peer)

    run(Setup(frame_size_max=1_000), story)


def test_the_limit_of_open_files_bounds_the_connections() -> None:
    counts = ConnectionCounts(ConnectionLimits(), room=2)
    assert [counts.admit("10.0.0.1", 0) for _ in range(2)] == [None, None]
    refusal = counts.admit("10.0.0.2", 0)
    assert refusal is not None
    assert "open files" in refusal
    counts.release("10.0.0.1")
    assert counts.admit("10.0.0.2", 0) is None


def test_a_listener_may_have_a_limit_of_its_own() -> None:
    async def story(setup: Setup) -> None:
        first = await setup.connect()
        assert await ask(first, b"hello") == b"hello"
        assert await is_cut(await setup.connect())
        # The node counts only those that were let in.
        assert len(setup.counts) == 1
        first[1].close()
        await until(lambda: len(setup.counts) == 0)
        second = await setup.connect()
        assert await ask(second, b"again") == b"again"
        second[1].close()

    run(Setup(own=ListenerCounts("PLAINTEXT", limit=1)), story)


def test_a_full_listener_leaves_the_others_their_connections() -> None:
    counts = ConnectionCounts(ConnectionLimits(connections_max=3))
    narrow, wide = ListenerCounts("INTERNAL", limit=1), ListenerCounts("EXTERNAL", rate=1)
    assert counts.admit("10.0.0.1", 0, narrow) is None
    refusal = counts.admit("10.0.0.1", 0, narrow)
    assert refusal == "listener.name.internal.max.connections of 1 is reached"
    assert counts.admit("10.0.0.1", 0, wide) is None
    refusal = counts.admit("10.0.0.1", 0, wide)
    assert refusal == "listener.name.external.max.connection.creation.rate of 1 is reached"
    assert counts.admit("10.0.0.1", 1_001, wide) is None
    assert counts.admit("10.0.0.1", 2_002, wide) == "max.connections of 3 is reached"
    counts.release("10.0.0.1", narrow)
    assert counts.admit("10.0.0.1", 2_002, narrow) is None


def test_refused_connections_are_told_once_and_then_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story(setup: Setup) -> None:
        for _ in range(5):
            assert await is_cut(await setup.connect())
        assert len(caplog.records) == 1
        setup.clock.advance(10_000)
        assert await is_cut(await setup.connect())

    run(Setup(connections_max=0), story)
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 2
    assert "4 more were refused" in caplog.text


def test_limits_that_change_hold_for_those_who_come_from_then_on() -> None:
    counts = ConnectionCounts(ConnectionLimits())
    own = ListenerCounts("PLAINTEXT")
    for _ in range(3):
        assert counts.admit("10.0.0.1", 0, own) is None
    counts.change(ConnectionLimits(connections_per_ip_max=2))
    assert counts.admit("10.0.0.1", 0, own) == "max.connections.per.ip of 2 is reached"
    assert counts.admit("10.0.0.2", 0, own) is None
    counts.change(ConnectionLimits(creation_rate_max=1))
    assert counts.admit("10.0.0.2", 0, own) is None
    assert counts.admit("10.0.0.2", 0, own) == "max.connection.creation.rate of 1 is reached"
    counts.change(ConnectionLimits())
    own.change(5, 1000)
    refusal = counts.admit("10.0.0.2", 0, own)
    assert refusal == "listener.name.plaintext.max.connections of 5 is reached"
    assert len(counts) == 5
