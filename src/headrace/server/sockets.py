"""Listening sockets, bound before anything else so that their ports can be registered."""

from __future__ import annotations

import errno
import os
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass

BACKLOG = 1024
#: Linux only.
_TCP_CONGESTION = getattr(socket, "TCP_CONGESTION", 0)
_CONGESTION_NAME_MAX = 16
#: For a connection to an address of this machine.
_ANSWER_S = 1.0


class BindError(Exception):
    """A listener's address cannot be had; the text is one sentence for the operator."""


@dataclass(frozen=True, slots=True)
class SocketOptions:
    """What `socket.*` settings ask of a listening socket and of the connections it accepts.

    Kafka gives every connection buffers of 100 KB. Left alone the system fits them to each
    connection, which is faster, so they are set only where somebody asks for a size; the same goes
    for Kafka's short queue of connections that wait to be accepted.
    """

    send_buffer_bytes: int | None = None
    receive_buffer_bytes: int | None = None
    backlog: int = BACKLOG


_USUAL = SocketOptions()


def bind(host: str | None, port: int, options: SocketOptions = _USUAL) -> socket.socket:
    """A listening TCP socket that nobody accepts from yet; no host means every interface."""
    bound = _bind(host, port, options.backlog)
    # Accepted connections inherit both. A system that refuses a size keeps its own.
    with suppress(OSError):
        if options.send_buffer_bytes is not None:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, options.send_buffer_bytes)
        if options.receive_buffer_bytes is not None:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options.receive_buffer_bytes)
        _send_without_pacing(bound)
    return bound


def _send_without_pacing(bound: socket.socket) -> None:
    """On a loopback address, keep Linux from spacing out what it sends, as BBR does.

    There is no link whose queue this could spare, and its timers cost more than the sending
    itself. A connection that began with it keeps them, so it is the listening socket that asks.
    """
    address = bound.getsockname()[0]
    if not _TCP_CONGESTION or not (address.startswith("127.") or address == "::1"):
        return
    name = bound.getsockopt(socket.IPPROTO_TCP, _TCP_CONGESTION, _CONGESTION_NAME_MAX)
    if name.startswith(b"bbr"):
        bound.setsockopt(socket.IPPROTO_TCP, _TCP_CONGESTION, b"reno")


def _bind(host: str | None, port: int, backlog: int) -> socket.socket:
    try:
        if host and port and sys.platform != "linux":
            _require_unanswered(host, port)
        family = socket.AF_INET
        if host and ":" in host:
            family = socket.AF_INET6
        elif not host and socket.has_dualstack_ipv6():
            return socket.create_server(
                ("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=backlog
            )
        return socket.create_server((host or "", port), family=family, backlog=backlog)
    except OSError as error:
        where = f"{host or 'all interfaces'}:{port}"
        raise BindError(f"Cannot listen on {where}: {_reason(error)}.") from error


def _reason(error: OSError) -> str:
    """What the system says: Python adds the address, which the sentence has already."""
    # A name that cannot be resolved has numbers of its own, which Python passes on as errno.
    cause = error.__context__ if isinstance(error.__context__, socket.gaierror) else error
    if isinstance(cause, socket.gaierror) or not cause.errno:
        return cause.strerror or str(cause)
    return os.strerror(cause.errno)


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
