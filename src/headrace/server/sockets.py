"""Listening sockets, bound before anything else so that their ports can be registered."""

from __future__ import annotations

import errno
import os
import socket
import sys

_BACKLOG = 1024
#: For a connection to an address of this machine.
_ANSWER_S = 1.0


class BindError(Exception):
    """A listener's address cannot be had; the text is one sentence for the operator."""


def bind(host: str | None, port: int) -> socket.socket:
    """A bound TCP socket that does not listen yet; no host means every interface."""
    try:
        if host and port and sys.platform != "linux":
            _require_unanswered(host, port)
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


def _require_unanswered(host: str, port: int) -> None:
    """BSD lets an address be bound whose port somebody else has on all interfaces.

    The one that is bound last would take the other's clients away.
    """
    try:
        socket.create_connection((host, port), timeout=_ANSWER_S).close()
    except OSError:
        return
    raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))


def is_taken(port: int) -> bool:
    """Whether somebody listens on a port of this machine."""
    try:
        bind("127.0.0.1", port).close()
    except BindError:
        return True
    return False
