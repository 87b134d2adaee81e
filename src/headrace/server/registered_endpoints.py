"""How a node's listeners appear in its registration, and the date line of its own files."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable

from headrace.metadata.image import EndpointImage
from headrace.server.listener_config import ListenerConfig, is_wildcard

_SECURITY_PROTOCOLS = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}


def registered_endpoints(
    bound: Iterable[tuple[ListenerConfig, socket.socket]], *, for_controller: bool
) -> tuple[EndpointImage, ...]:
    """The listeners of one role, with the ports that their sockets really have."""
    return tuple(
        EndpointImage(
            listener.name,
            listener.advertised_host or registered_host(listener.host),
            listener.advertised_port or sock.getsockname()[1],
            _SECURITY_PROTOCOLS[listener.security_protocol],
        )
        for listener, sock in bound
        if listener.for_controller == for_controller
    )


def registered_host(host: str | None) -> str:
    """The host that other nodes find in the registration when none is advertised."""
    return socket.gethostname() if host is None or is_wildcard(host) else host


def date_line(now_ms: int) -> str:
    """The date as Java's Properties.store writes it."""
    return time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime(now_ms / 1000))
