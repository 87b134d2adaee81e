"""Listening sockets, bound before anything else so that their ports can be registered."""

from __future__ import annotations

import socket

_BACKLOG = 1024


class BindError(Exception):
    """A listener's address cannot be had; the text is one sentence for the operator."""


def bind(host: str | None, port: int) -> socket.socket:
    """A bound TCP socket that does not listen yet; no host means every interface."""
    try:
        family = socket.AF_INET
        if host and ":" in host:
            family = socket.AF_INET6
        elif not host and socket.has_dualstack_ipv6():
            return socket.create_server(
                ("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=_BACKLOG
            )
        return socket.create_server((host or "", port), family=family, backlog=_BACKLOG)
    except OSError as error:
        where = f"{host or 'all interfaces'}:{port}"
        raise BindError(f"Cannot listen on {where}: {error.strerror or error}.") from error


def is_taken(port: int) -> bool:
    """Whether somebody listens on a port of this machine."""
    try:
        bind("127.0.0.1", port).close()
    except BindError:
        return True
    return False
