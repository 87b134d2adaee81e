"""Addresses that can be had, and those that somebody else has."""

import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from headrace.server.node import Node
from headrace.server.sockets import BindError, SocketOptions, bind, is_taken
from tests.unit.server.nodes import formatted, run


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_a_port_that_somebody_has_on_all_interfaces_is_taken(
    monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    with socket.create_server(("", 0)) as other:
        port = int(other.getsockname()[1])
        monkeypatch.setattr(sys, "platform", platform)
        if platform == "darwin":
            # BSD lets the more special address be bound all the same.
            monkeypatch.setattr(socket, "create_server", lambda *_, **__: socket.socket())
        assert is_taken(port)
        with pytest.raises(BindError, match="already in use"):
            bind("127.0.0.1", port)


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_a_free_port_can_be_had(monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = int(other.getsockname()[1])
    monkeypatch.setattr(sys, "platform", platform)
    assert not is_taken(port)
    with bind("127.0.0.1", port) as bound:
        assert bound.getsockname() == ("127.0.0.1", port)


def test_a_name_that_nobody_knows_is_one_sentence() -> None:
    with pytest.raises(BindError, match=r"^Cannot listen on no\.such\.invalid:0: .+\.$"):
        bind("no.such.invalid", 0)


def test_connections_get_the_buffers_that_were_asked_for() -> None:
    with (
        bind("127.0.0.1", 0, SocketOptions(20_000, 30_000)) as listening,
        socket.create_connection(listening.getsockname()),
    ):
        accepted, _ = listening.accept()
        with accepted:
            sizes = [
                accepted.getsockopt(socket.SOL_SOCKET, option)
                for option in (socket.SO_SNDBUF, socket.SO_RCVBUF)
            ]
    doubled = 2 if sys.platform == "linux" else 1  # Linux counts its own bookkeeping too
    assert sizes == [20_000 * doubled, 30_000 * doubled]


class _PacingSocket(socket.socket):
    """A socket of a system whose congestion control is BBR, until another is asked for."""

    asked = False

    def getsockopt(self, level: int, name: int, size: int = 0) -> Any:
        if name == socket.TCP_CONGESTION and not self.asked:
            return b"bbr".ljust(size, b"\0")
        return super().getsockopt(level, name, size) if size else super().getsockopt(level, name)

    def setsockopt(self, level: int, name: int, *value: Any) -> None:
        super().setsockopt(level, name, *value)
        self.asked = self.asked or name == socket.TCP_CONGESTION


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a choice of them")
@pytest.mark.parametrize(("host", "is_spared"), [("127.0.0.1", True), ("0.0.0.0", False)])
def test_a_loopback_listener_does_not_pace_what_it_sends(
    monkeypatch: pytest.MonkeyPatch, host: str, is_spared: bool
) -> None:
    def create_server(*_: Any, **__: Any) -> socket.socket:
        created = _PacingSocket()
        created.bind((host, 0))
        return created

    monkeypatch.setattr(socket, "create_server", create_server)
    with bind(host, 0) as bound:
        name = bound.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    assert name.rstrip(b"\0") == (b"reno" if is_spared else b"bbr")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the backlog of a socket")
def test_a_node_listens_with_the_backlog_that_was_asked_for(tmp_path: Path) -> None:
    async def backlogs(node: Node) -> set[int]:
        # Field tcpi_sacked: of a listening socket, how many connections may wait.
        infos = [s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 32) for s in node._sockets]
        return {int.from_bytes(info[28:32], sys.byteorder) for info in infos}

    given = {"socket.listen.backlog.size": "9"}
    assert run(formatted(tmp_path / "data", given), backlogs) == {9}
