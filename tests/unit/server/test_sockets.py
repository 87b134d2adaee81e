"""Addresses that can be had, and those that somebody else has."""

import socket
import sys

import pytest

from headrace.server.sockets import BindError, bind, is_taken


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
